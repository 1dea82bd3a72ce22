package hosttest

import (
	"io"
	"net/http"
)

// LateBodyCheckTransport is an HTTP transport for one request. It checks for surplus body data only after Begun is closed.
// An [http.Transport] checks after it has sent the body, when the response may have arrived. LateBodyCheckTransport makes
// that race reproducible.
type LateBodyCheckTransport struct {
	http.RoundTripper
	Begun  <-chan struct{}
	Result chan<- error // receives the result of the check, io.EOF if correct
}

// RoundTrip sends the request.
func (l *LateBodyCheckTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	late := r.Clone(r.Context())
	late.Body = &lateBody{r.Body, r.ContentLength, l}
	return l.RoundTripper.RoundTrip(late)
}

type lateBody struct {
	io.ReadCloser
	left int64
	late *LateBodyCheckTransport
}

func (b *lateBody) Read(into []byte) (int, error) {
	if b.left == 0 {
		<-b.late.Begun
		n, err := b.ReadCloser.Read(into)
		b.late.Result <- err
		return n, err
	}
	n, err := b.ReadCloser.Read(into)
	b.left -= int64(n)
	return n, err
}
