package schedule

import (
	"strings"
	"testing"
	"time"
)

// runsOf are the next runs of an expression in a zone, on the clock there.
func nextRuns(t *testing.T, expr, zone, after string, n int) string {
	t.Helper()
	loc, err := time.LoadLocation(zone)
	if err != nil {
		t.Fatal(err)
	}
	at, err := time.Parse(time.RFC3339, after)
	if err != nil {
		t.Fatal(err)
	}
	s := Schedule{Kind: Cron, Expr: expr, TZ: zone}
	var runs []string
	for range n {
		next, err := s.NextAfter(at)
		if err != nil {
			t.Fatalf("%s in %s after %s: %v", expr, zone, at, err)
		}
		if !next.After(at) {
			t.Fatalf("%s in %s after %s: %s is not later", expr, zone, at, next)
		}
		at = next
		runs = append(runs, at.In(loc).Format("02T15:04:05-07"))
	}
	return strings.Join(runs, " ")
}

// Berlin's clocks go from 2:00 to 3:00 on 29 March 2026, and from 3:00 to 2:00 on 25 October.
func TestCronTimeZones(t *testing.T) {
	for _, c := range []struct{ expr, zone, after, want string }{
		{"30 9 * * 1-5", "Europe/Berlin", "2026-11-27T09:00:00+01:00", "27T09:30:00+01 30T09:30:00+01 01T09:30:00+01"},
		{"30 9 * * *", "Asia/Kolkata", "2026-11-27T05:00:00Z", "28T09:30:00+05 29T09:30:00+05"},
		{"0 0 29 2 *", "UTC", "2026-01-01T00:00:00Z", "29T00:00:00+00 29T00:00:00+00"},
		{"@daily", "America/New_York", "2026-06-01T12:00:00Z", "02T00:00:00-04"},
		{"*/20 * * * * *", "UTC", "2026-06-01T12:00:00.5Z", "01T12:00:20+00 01T12:00:40+00 01T12:01:00+00"},
		// an hour that does not exist
		{"30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", "29T03:00:00+02 30T02:30:00+02"},
		{"0 3 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", "29T03:00:00+02 30T03:00:00+02"},
		{"0,30 2,3 * * *", "Europe/Berlin", "2026-03-29T00:00:00Z", "29T03:00:00+02 29T03:30:00+02 30T02:00:00+02"},
		{"*/30 * * * *", "Europe/Berlin", "2026-03-29T00:20:00Z", "29T01:30:00+01 29T03:00:00+02 29T03:30:00+02"},
		{"15 */2 * * *", "Europe/Berlin", "2026-03-29T00:20:00Z", "29T04:15:00+02"},
		// an hour that there is twice
		{"30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", "25T02:30:00+02 26T02:30:00+01"},
		{"0 3 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", "25T03:00:00+01 26T03:00:00+01"},
		{"0 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", "25T02:00:00+02 26T02:00:00+01"},
		{"30 * * * *", "Europe/Berlin", "2026-10-24T23:40:00Z", "25T02:30:00+02 25T02:30:00+01 25T03:30:00+01"},
		// half an hour, and a day that does not exist
		{"15 2 * * *", "Australia/Lord_Howe", "2026-10-03T12:00:00Z", "04T02:30:00+11 05T02:15:00+11"},
		{"0 9 30 12 *", "Pacific/Apia", "2010-12-31T00:00:00Z", "31T00:00:00+14 30T09:00:00+14"},
	} {
		got := nextRuns(t, c.expr, c.zone, c.after, strings.Count(c.want, " ")+1)
		if got != c.want {
			t.Errorf("%s in %s after %s:\n got %s\nwant %s", c.expr, c.zone, c.after, got, c.want)
		}
	}
}

func TestInvalidSchedules(t *testing.T) {
	for _, c := range []struct {
		s    Schedule
		want string
	}{
		{Schedule{Kind: Cron, Expr: "61 * * * *"}, `"61 * * * *"`},
		{Schedule{Kind: Cron, Expr: "daily"}, `"daily"`},
		{Schedule{Kind: Cron, Expr: "* * * * *", TZ: "Europe/Nowhere"}, `"Europe/Nowhere"`},
		{Schedule{Kind: Cron, Expr: "* * * * *", TZ: "../../etc/passwd"}, "etc/passwd"},
		{Schedule{Kind: Cron, Expr: "0 0 30 2 *"}, `"0 0 30 2 *" matches no time`},
		{Schedule{Kind: Cron, Expr: strings.Repeat("* ", 200)}, "at most 256"},
		{Schedule{Kind: Every, EveryMs: 10}, "10 ms"},
		{Schedule{Kind: At}, "no Unix time"},
		{Schedule{Kind: "weekly"}, `"weekly"`},
	} {
		if _, err := c.s.NextAfter(time.Now()); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v; want %s", c.s, err, c.want)
		}
	}
}

// Whatever is taken for an expression has its runs later and later, and ends in time.
func FuzzSchedule(f *testing.F) {
	for _, seed := range []struct {
		expr, tz string
		after    int64
	}{
		{"30 9 * * 1-5", "Europe/Berlin", 1790000000}, {"0 0 L * *", "UTC", 0}, {"* * * * 5#2", "", 1e9},
		{"0 0 15W * *", "Africa/Casablanca", 1e9}, {"* * * * * * 2099", "America/Sao_Paulo", 1e9}, {"@hourly", "Pacific/Apia", 1325000000},
		{"1-5/2,7 */3 1 JAN SUN", "Asia/Kathmandu", 1e9}, {"0 0 30 2 *", "", 1e9}, {"/ / / / /", "", 1}, {"5- -5 # W L", "", 1},
	} {
		f.Add(seed.expr, seed.tz, seed.after)
	}
	f.Fuzz(func(t *testing.T, expr, tz string, after int64) {
		s := Schedule{Kind: Cron, Expr: expr, TZ: tz}
		at := time.Unix(after%(4e9), 0)
		for range 3 {
			next, err := s.NextAfter(at)
			if err != nil {
				return
			}
			if !next.After(at) {
				t.Fatalf("%q in %q after %s is %s", expr, tz, at, next)
			}
			at = next
		}
	})
}
