module github.com/picoclaw/picoclaw

go 1.26.5
