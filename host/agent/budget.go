package agent

import (
	"cmp"
	"fmt"
	"sync"
	"time"
)

// TurnBudget limits a turn. Zero means no limit.
type TurnBudget struct {
	Tokens  int64
	CostUSD float64
	Calls   int
	Time    time.Duration
}

// TokenPrices are in US dollars per million tokens. Cache prices of zero mean the input price.
type TokenPrices struct{ Input, Output, CacheRead, CacheWrite float64 }

// Cost returns the cost of a usage.
func (p TokenPrices) Cost(u TokenUsage) float64 {
	read, write := cmp.Or(p.CacheRead, p.Input), cmp.Or(p.CacheWrite, p.Input)
	return (float64(u.Input)*p.Input + float64(u.CacheRead)*read + float64(u.CacheWrite)*write +
		float64(u.Output)*p.Output) / 1e6
}

// BudgetExceededError means that a turn ended because it reached a limit.
type BudgetExceededError struct {
	Budget  string // name of the limit, such as "tokens"
	Setting string // config key of the limit
	Message string
}

func (e *BudgetExceededError) Error() string {
	return fmt.Sprintf("%s (%s). Earlier changes remain", e.Message, e.Setting)
}

// Config keys of the limits.
const (
	tokensSetting     = "agents.defaults.budget.tokens"
	costSetting       = "agents.defaults.budget.cost_usd"
	callsSetting      = "agents.defaults.budget.calls"
	timeSetting       = "agents.defaults.budget.minutes"
	iterationsSetting = "agents.defaults.max_tool_iterations"
)

// usageMeter counts the usage of a turn, including its subagents.
type usageMeter struct {
	outer  *usageMeter // meter of the outer turn; may be nil
	budget TurnBudget
	prices *TokenPrices

	mu      sync.Mutex
	usage   TokenUsage
	calls   int
	unknown bool // some usage has no known cost
}

// addUsage adds the token usage of a reply to this turn and its outer turns.
func (m *usageMeter) addUsage(u TokenUsage) {
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

// admitCall counts a tool call, or returns an error if the limit is reached.
func (m *usageMeter) admitCall() *BudgetExceededError {
	if err := m.checkBudget(); err != nil {
		return err
	}
	for one := m; one != nil; one = one.outer {
		if err := one.countCall(); err != nil {
			return err
		}
	}
	return nil
}

func (m *usageMeter) countCall() *BudgetExceededError {
	m.mu.Lock()
	defer m.mu.Unlock()
	if limit := m.budget.Calls; limit > 0 && m.calls >= limit {
		return &BudgetExceededError{"calls", callsSetting,
			fmt.Sprintf("the turn used its budget of %d calls", limit)}
	}
	m.calls++
	return nil
}

// checkBudget returns the limit that this turn or an outer one has reached.
func (m *usageMeter) checkBudget() *BudgetExceededError {
	for ; m != nil; m = m.outer {
		if err := m.checkOwnBudget(); err != nil {
			return err
		}
	}
	return nil
}

func (m *usageMeter) checkOwnBudget() *BudgetExceededError {
	m.mu.Lock()
	defer m.mu.Unlock()
	b, used := m.budget, m.usage
	switch {
	case b.Tokens > 0 && used.TotalTokens() >= b.Tokens:
		return &BudgetExceededError{"tokens", tokensSetting,
			fmt.Sprintf("the turn has used %d tokens; its budget is %d", used.TotalTokens(), b.Tokens)}
	case b.CostUSD > 0 && m.unknown:
		return &BudgetExceededError{"cost_usd", costSetting, fmt.Sprintf(
			"the turn may cost %.2f USD, but the model has no prices; set them", b.CostUSD)}
	case b.CostUSD > 0 && used.CostUSD >= b.CostUSD:
		return &BudgetExceededError{"cost_usd", costSetting,
			fmt.Sprintf("the turn has cost %.4f USD; its budget is %.4f", used.CostUSD, b.CostUSD)}
	}
	return nil
}

// totalUsage returns the token usage and the number of calls of the turn.
func (m *usageMeter) totalUsage() (TokenUsage, int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.usage, m.calls
}

// remainingBudget returns the smallest remaining budget of this turn and its outer turns.
func (m *usageMeter) remainingBudget() RemainingBudget {
	var l RemainingBudget
	for ; m != nil; m = m.outer {
		used, calls := m.totalUsage()
		if b := m.budget; b.Tokens > 0 {
			l.Tokens = minLimit(l.Tokens, max(b.Tokens-used.TotalTokens(), 1))
		}
		if b := m.budget; b.CostUSD > 0 {
			l.CostUSD = minLimit(l.CostUSD, b.CostUSD-used.CostUSD)
		}
		if b := m.budget; b.Calls > 0 {
			l.Calls = minLimit(l.Calls, max(b.Calls-calls, 1))
		}
	}
	return l
}

// minLimit returns the smaller limit. Zero means no limit.
func minLimit[N int | int64 | float64](a, b N) N {
	if a == 0 {
		return b
	}
	return min(a, b)
}
