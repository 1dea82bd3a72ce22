//go:build !linux

package isolation

// checkSources refuses all rules: there is no mount view that could show anything.
func checkSources(rules []ExposePath) error { return refuseExposed(rules) }
