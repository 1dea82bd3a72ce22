package mcpservers

import (
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

// removeSymlinks removes all symlinks below a directory.
func removeSymlinks(dir string) error {
	return filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Type() == fs.ModeSymlink {
			err = os.Remove(path)
		}
		return err
	})
}
