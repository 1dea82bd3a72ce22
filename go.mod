module github.com/picoclaw/picoclaw

go 1.26.5

require mvdan.cc/sh/v3 v3.14.1
