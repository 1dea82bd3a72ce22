package mcpservers

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// skipBrowserDownloads are variables with which npm packages download no browser at their installation.
var skipBrowserDownloads = []string{
	"PUPPETEER_SKIP_DOWNLOAD=true", "PUPPETEER_SKIP_CHROMIUM_DOWNLOAD=true", "PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD=1",
}

// usesBrowser reports whether an npm package or one of its dependencies controls a browser.
func usesBrowser(data string) bool {
	return slices.ContainsFunc([]string{"puppeteer", "puppeteer-core", "playwright", "playwright-core"}, func(name string) bool {
		_, err := os.Stat(filepath.Join(data, "node_modules", name))
		return err == nil
	})
}

// browserEnv returns environment variables that make browser libraries start the Chromium of this machine, without
// its own sandbox, which can't be created inside another one.
func browserEnv(s *ServerSpec) (map[string]string, error) {
	if !s.Browser {
		return nil, nil
	}
	path, err := findSystemProgram("chromium", "chromium")
	if err != nil {
		return nil, err
	}
	return map[string]string{
		"CHROME_PATH": path, "PUPPETEER_EXECUTABLE_PATH": path, "PLAYWRIGHT_MCP_EXECUTABLE_PATH": path,
		"PLAYWRIGHT_MCP_HEADLESS": "true", "PLAYWRIGHT_MCP_SANDBOX": "false", "PLAYWRIGHT_MCP_ISOLATED": "true",
	}, nil
}

// playwrightPrograms are the paths of Chromium in Playwright's browser directory, by the browser's name. %s is the revision.
var playwrightPrograms = map[string][]string{
	"chromium": {"chromium-%s/chrome-linux/chrome", "chromium-%s/chrome-linux64/chrome", "chromium-%s/chrome-linux-arm64/chrome"},
	"chromium-headless-shell": {
		"chromium_headless_shell-%s/chrome-linux/headless_shell",
		"chromium_headless_shell-%s/chrome-headless-shell-linux64/chrome-headless-shell",
		"chromium_headless_shell-%s/chrome-headless-shell-linux-arm64/chrome-headless-shell",
	},
}

// addPlaywrightBrowsers makes all copies of Playwright in a package start the program chromium, which the library can't
// find by itself. It returns the name of the browser directory in data.
func addPlaywrightBrowsers(data, chromium string) (string, error) {
	const dir = "browsers"
	err := filepath.WalkDir(filepath.Join(data, "node_modules"), func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.Name() != "browsers.json" || filepath.Base(filepath.Dir(path)) != "playwright-core" {
			return err
		}
		var list struct {
			Browsers []struct{ Name, Revision string }
		}
		text, err := os.ReadFile(path)
		if err != nil || json.Unmarshal(text, &list) != nil {
			return err
		}
		for _, b := range list.Browsers {
			for _, pattern := range playwrightPrograms[b.Name] {
				if !filepath.IsLocal(b.Revision) {
					continue
				}
				program := filepath.Join(data, dir, fmt.Sprintf(pattern, b.Revision))
				if err := os.MkdirAll(filepath.Dir(program), 0o700); err != nil {
					return err
				}
				if err := os.WriteFile(program, []byte("#!/bin/sh\nexec "+chromium+" \"$@\"\n"), 0o700); err != nil {
					return err
				}
			}
		}
		return nil
	})
	return dir, err
}

// removeSymlinks removes all symlinks below a directory.
func removeSymlinks(dir string) error {
	return filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Type() == fs.ModeSymlink {
			err = os.Remove(path)
		}
		return err
	})
}
