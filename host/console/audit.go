package console

import (
	"bufio"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/picoclaw/picoclaw/host/audit"
)

const (
	perPage = 50
	// searchTime is how long one page may take; what is rare is searched for by several.
	searchTime = 80 * time.Millisecond
)

// auditView is what the page of the record shows.
type auditView struct {
	Query    url.Values // the filter
	Filtered bool
	Records  []audit.Record
	Reached  time.Time // how far back was searched
	Next     string    // where to go on; empty for nowhere
	Later    bool      // it is not the first page
	Broken   int
	Formats  []string
	Verified *verified // nil for not yet
}

// Of is a text of the filter.
func (v auditView) Of(name string) string { return v.Query.Get(name) }

// Export leads to the records that the filter wants.
func (v auditView) Export(format string) string {
	q := copied(v.Query)
	q.Set("format", format)
	return "export?" + q.Encode()
}

func copied(q url.Values) url.Values {
	out := url.Values{}
	for name := range q {
		if q.Get(name) != "" {
			out.Set(name, q.Get(name))
		}
	}
	return out
}

func (c *Console) showAudit(v *visit) (any, error) {
	q := copied(v.URL.Query())
	query := audit.Query{Limit: perPage, After: q.Get("after")}
	q.Del("after")
	var err error
	if query.Filter, err = audit.ParseFilter(q.Get, time.Now()); err != nil {
		return nil, &refusal{http.StatusBadRequest, err.Error()}
	}
	view := auditView{Query: q, Filtered: query.Filter != audit.Filter{}, Later: query.After != "",
		Formats: audit.ExportFormats()}
	page, err := c.search(query)
	if err != nil {
		return nil, err
	}
	view.Records, view.Reached, view.Broken = page.Records, page.Reached, page.Broken
	if page.Next != "" {
		q := copied(q)
		q.Set("after", page.Next)
		view.Next = "audit?" + q.Encode()
	}
	c.verified.mu.Lock()
	defer c.verified.mu.Unlock()
	view.Verified = c.verified.last
	return view, nil
}

// search searches until a page is full, or for as long as a page may take.
func (c *Console) search(q audit.Query) (*audit.Page, error) {
	all := &audit.Page{}
	for began, most := time.Now(), q.Limit; ; q.After = all.Next {
		q.Limit = most - len(all.Records)
		page, err := audit.SearchLog(c.options.Log, q)
		if errors.Is(err, audit.ErrGone) {
			return nil, missing("This part of the record is not there any more.")
		}
		if err != nil {
			return nil, &refusal{http.StatusBadRequest, err.Error()}
		}
		all.Records = append(all.Records, page.Records...)
		all.Next, all.Reached, all.Broken = page.Next, page.Reached, all.Broken+page.Broken
		if page.Next == "" || len(all.Records) == most || time.Since(began) > searchTime {
			return all, nil
		}
	}
}

// verification is what the record was last found to be. The zero value is ready.
type verification struct {
	running sync.Mutex
	mu      sync.Mutex
	last    *verified
}

type verified struct {
	*audit.VerifyResult // nil if the chain is broken

	Time   time.Time
	Took   time.Duration
	Broken string
}

// verify follows the chain of the record: all of it is read.
func (c *Console) verify(v *visit) (string, error) {
	if !c.verified.running.TryLock() {
		return "", &refusal{http.StatusConflict, "The record is being verified already: load the page again in a while."}
	}
	defer c.verified.running.Unlock()
	began := time.Now()
	found, err := audit.VerifyLog(c.options.Log, "")
	out := &verified{VerifyResult: found, Time: began, Took: time.Since(began).Round(time.Millisecond)}
	if broken := (*audit.ChainError)(nil); errors.As(err, &broken) {
		out.Broken = broken.Error()
	} else if err != nil {
		return "", err
	}
	c.options.Logger.Info("the record was verified", "by", v.By, "broken", out.Broken)
	c.verified.mu.Lock()
	defer c.verified.mu.Unlock()
	c.verified.last = out
	return "audit", nil
}

// export sends the records that are wanted, the oldest first, as they are read.
func (c *Console) export(w http.ResponseWriter, v *visit) error {
	q := v.URL.Query()
	filter, err := audit.ParseFilter(q.Get, time.Now())
	if err != nil {
		return &refusal{http.StatusBadRequest, err.Error()}
	}
	out := bufio.NewWriterSize(w, 64<<10)
	to, err := audit.NewExporter(q.Get("format"), out, c.options.Version)
	if err != nil {
		return &refusal{http.StatusBadRequest, err.Error()}
	}
	h := w.Header()
	h.Set("Content-Type", "application/octet-stream")
	h.Set("Content-Disposition", fmt.Sprintf(`attachment; filename="audit-%s.%s"`,
		time.Now().UTC().Format("20060102T150405Z"), q.Get("format")))
	_, err = audit.ReadLog(c.options.Log, func(r audit.Record) error {
		if err := v.Context().Err(); err != nil || !filter.Matches(r) {
			return err
		}
		return to.Write(r)
	})
	if err = errors.Join(err, to.Close(), out.Flush()); err != nil {
		c.options.Logger.Warn("the record was not exported to its end", "error", err)
		panic(http.ErrAbortHandler) // the browser is told that it does not have all
	}
	return nil
}
