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
	// maxSearchTime limits the search for one page; rare entries take several pages.
	maxSearchTime = 80 * time.Millisecond
)

// auditView is the data of the audit page.
type auditView struct {
	Query    url.Values // the filter
	Filtered bool
	Records  []audit.Record
	Reached  time.Time // time of the oldest entry searched
	Next     string    // start of the next page; may be empty
	Later    bool      // not the first page
	Broken   int
	Formats  []string
	Verified *verifyResult // nil before the first verification
}

// FilterValue returns the value of a filter field; templates call it.
func (v auditView) FilterValue(name string) string { return v.Query.Get(name) }

// ExportURL returns the URL that exports the matching entries in a format.
func (v auditView) ExportURL(format string) string {
	q := copyQuery(v.Query)
	q.Set("format", format)
	return "export?" + q.Encode()
}

func copyQuery(q url.Values) url.Values {
	out := url.Values{}
	for name := range q {
		if q.Get(name) != "" {
			out.Set(name, q.Get(name))
		}
	}
	return out
}

func (c *Console) showAudit(v *authenticatedRequest) (any, error) {
	q := copyQuery(v.URL.Query())
	query := audit.LogQuery{Limit: perPage, After: q.Get("after")}
	q.Del("after")
	var err error
	if query.Filter, err = audit.ParseFilter(q.Get, time.Now()); err != nil {
		return nil, &httpError{http.StatusBadRequest, err.Error()}
	}
	view := auditView{Query: q, Filtered: query.Filter != audit.Filter{}, Later: query.After != "",
		Formats: audit.ExportFormats()}
	page, err := c.searchLog(query)
	if err != nil {
		return nil, err
	}
	view.Records, view.Reached, view.Broken = page.Records, page.Reached, page.Broken
	if page.Next != "" {
		next := copyQuery(q)
		next.Set("after", page.Next)
		view.Next = "audit?" + next.Encode()
	}
	c.verified.mu.Lock()
	defer c.verified.mu.Unlock()
	view.Verified = c.verified.last
	return view, nil
}

// searchLog searches the audit log until a page is full, or for maxSearchTime.
func (c *Console) searchLog(q audit.LogQuery) (*audit.LogPage, error) {
	all := &audit.LogPage{}
	for began, most := time.Now(), q.Limit; ; q.After = all.Next {
		q.Limit = most - len(all.Records)
		page, err := audit.SearchLog(c.options.Log, q)
		if errors.Is(err, audit.ErrNotInLog) {
			return nil, newNotFoundError("This part of the audit log no longer exists.")
		}
		if err != nil {
			return nil, &httpError{http.StatusBadRequest, err.Error()}
		}
		all.Records = append(all.Records, page.Records...)
		all.Next, all.Reached, all.Broken = page.Next, page.Reached, all.Broken+page.Broken
		if page.Next == "" || len(all.Records) == most || time.Since(began) > maxSearchTime {
			return all, nil
		}
	}
}

// auditVerification has the result of the last verification of the audit log. The zero value is ready to use.
type auditVerification struct {
	running sync.Mutex
	mu      sync.Mutex
	last    *verifyResult
}

type verifyResult struct {
	*audit.VerifyResult // nil if the chain is broken

	Time   time.Time
	Took   time.Duration
	Broken string
}

// verifyLog verifies the hash chain of the whole audit log.
func (c *Console) verifyLog(v *authenticatedRequest) (string, error) {
	if !c.verified.running.TryLock() {
		return "", &httpError{http.StatusConflict, "A verification is running already; reload the page later."}
	}
	defer c.verified.running.Unlock()
	began := time.Now()
	found, err := audit.VerifyLog(c.options.Log, "")
	out := &verifyResult{VerifyResult: found, Time: began, Took: time.Since(began).Round(time.Millisecond)}
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

// exportLog sends the matching entries, oldest first, while it reads the log.
func (c *Console) exportLog(w http.ResponseWriter, v *authenticatedRequest) error {
	q := v.URL.Query()
	filter, err := audit.ParseFilter(q.Get, time.Now())
	if err != nil {
		return &httpError{http.StatusBadRequest, err.Error()}
	}
	out := bufio.NewWriterSize(w, 64<<10)
	to, err := audit.NewExporter(q.Get("format"), out, c.options.Version)
	if err != nil {
		return &httpError{http.StatusBadRequest, err.Error()}
	}
	h := w.Header()
	h.Set("Content-Type", "application/octet-stream")
	h.Set("Content-Disposition", fmt.Sprintf(`attachment; filename="audit-%s.%s"`,
		time.Now().UTC().Format("20060102T150405Z"), q.Get("format")))
	_, err = audit.ReadLog(c.options.Log, func(r audit.Record) error {
		if ctxErr := v.Context().Err(); ctxErr != nil || !filter.Matches(r) {
			return ctxErr
		}
		return to.Write(r)
	})
	if err = errors.Join(err, to.Close(), out.Flush()); err != nil {
		c.options.Logger.Warn("the record was not exported to its end", "error", err)
		panic(http.ErrAbortHandler) // aborts the response, so that the browser reports it
	}
	return nil
}
