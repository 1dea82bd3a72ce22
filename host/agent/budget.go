package agent

import (
	"fmt"
	"sync"
	"time"
)

// Budget bounds what a turn may use. A zero is no bound.
type Budget struct {
	Tokens  int64
	CostUSD float64
	Calls   int
	Time    time.Duration
}

// Prices are what a model costs, in US dollars for a million tokens. Where a cache has no price of its own it costs
// what reading does.
type Prices struct{ Input, Output, CacheRead, CacheWrite float64 }

// Cost is what a usage costs.
func (p Prices) Cost(u Usage) float64 {
	read, write := p.CacheRead, p.CacheWrite
	if read == 0 {
		read = p.Input
	}
	if write == 0 {
		write = p.Input
	}
	return (float64(u.Input)*p.Input + float64(u.CacheRead)*read + float64(u.CacheWrite)*write +
		float64(u.Output)*p.Output) / 1e6
}

// BudgetError says that a turn has ended at a bound.
type BudgetError struct {
	Budget  string // what is bounded, such as "tokens"
	Setting string // the key that sets the bound
	Message string
}

func (e *BudgetError) Error() string {
	return fmt.Sprintf("%s (%s). What was done until then is kept", e.Message, e.Setting)
}

// The keys that set the bounds.
const (
	tokensSetting     = "agents.defaults.budget.tokens"
	costSetting       = "agents.defaults.budget.cost_usd"
	callsSetting      = "agents.defaults.budget.calls"
	timeSetting       = "agents.defaults.budget.minutes"
	iterationsSetting = "agents.defaults.max_tool_iterations"
)

func overTime(limit time.Duration) *BudgetError {
	return &BudgetError{"minutes", timeSetting, fmt.Sprintf("the turn has taken %s, which is all it may take", limit)}
}

func overIterations(limit int) *BudgetError {
	return &BudgetError{"iterations", iterationsSetting,
		fmt.Sprintf("the model was asked %d times in this turn, which is as often as it may be", limit)}
}

// meter is what a turn has used, its subagents' turns included.
type meter struct {
	outer  *meter // of the turn that this one is a part of; nil for none
	budget Budget
	prices *Prices

	mu      sync.Mutex
	usage   Usage
	calls   int
	unknown bool // something was used whose cost is not known
}

// spend counts what an answer has used.
func (m *meter) spend(u Usage) {
	u.CostUSD = max(u.CostUSD, 0)
	known := u.CostUSD > 0
	if !known && m.prices != nil {
		u.CostUSD, known = m.prices.Cost(u), true
	}
	for ; m != nil; m = m.outer {
		m.mu.Lock()
		m.usage = m.usage.Add(u)
		m.calls += u.Calls
		m.unknown = m.unknown || !known
		m.mu.Unlock()
	}
}

// call counts a call, unless there are enough already.
func (m *meter) call() *BudgetError {
	if err := m.over(); err != nil {
		return err
	}
	for one := m; one != nil; one = one.outer {
		if err := one.countCall(); err != nil {
			return err
		}
	}
	return nil
}

func (m *meter) countCall() *BudgetError {
	m.mu.Lock()
	defer m.mu.Unlock()
	if limit := m.budget.Calls; limit > 0 && m.calls >= limit {
		return &BudgetError{"calls", callsSetting,
			fmt.Sprintf("the turn has made %d calls, and would make another; its budget is %d", m.calls, limit)}
	}
	m.calls++
	return nil
}

// over says at which bound the turn is, or one that it is a part of.
func (m *meter) over() *BudgetError {
	for ; m != nil; m = m.outer {
		if err := m.overOwn(); err != nil {
			return err
		}
	}
	return nil
}

func (m *meter) overOwn() *BudgetError {
	m.mu.Lock()
	defer m.mu.Unlock()
	b, used := m.budget, m.usage
	switch {
	case b.Tokens > 0 && used.Tokens() >= b.Tokens:
		return &BudgetError{"tokens", tokensSetting,
			fmt.Sprintf("the turn has used %d tokens; its budget is %d", used.Tokens(), b.Tokens)}
	case b.CostUSD > 0 && m.unknown:
		return &BudgetError{"cost_usd", costSetting, fmt.Sprintf(
			"the turn may cost %.2f USD, but what the model costs is not known; set its prices", b.CostUSD)}
	case b.CostUSD > 0 && used.CostUSD >= b.CostUSD:
		return &BudgetError{"cost_usd", costSetting,
			fmt.Sprintf("the turn has cost %.4f USD; its budget is %.4f", used.CostUSD, b.CostUSD)}
	}
	return nil
}

// used is the sum of what was used.
func (m *meter) used() (Usage, int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.usage, m.calls
}

// left is what the turn may still use, those that it is a part of considered. It is not over a bound.
func (m *meter) left() Left {
	var l Left
	for ; m != nil; m = m.outer {
		used, calls := m.used()
		if b := m.budget; b.Tokens > 0 {
			l.Tokens = least(l.Tokens, max(b.Tokens-used.Tokens(), 1))
		}
		if b := m.budget; b.CostUSD > 0 {
			l.CostUSD = least(l.CostUSD, b.CostUSD-used.CostUSD)
		}
		if b := m.budget; b.Calls > 0 {
			l.Calls = least(l.Calls, max(b.Calls-calls, 1))
		}
	}
	return l
}

// least is the lesser of two bounds, of which zero is none.
func least[N int | int64 | float64](a, b N) N {
	if a == 0 {
		return b
	}
	return min(a, b)
}
