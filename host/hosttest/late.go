package hosttest

import (
	"io"
	"net/http"
)

// Late is a transport for one request that looks whether there is more of its body than its length says only when
// Begun is closed. An [http.Transport] looks once it has sent the whole body, and the response may have come by then:
// this has a test see what otherwise happens now and then.
type Late struct {
	http.RoundTripper
	Begun <-chan struct{}
	Found chan<- error // gets what the look has found, io.EOF if all is well
}

// RoundTrip sends the request.
func (l *Late) RoundTrip(r *http.Request) (*http.Response, error) {
	late := r.Clone(r.Context())
	late.Body = &lateBody{r.Body, r.ContentLength, l}
	return l.RoundTripper.RoundTrip(late)
}

type lateBody struct {
	io.ReadCloser
	left int64
	late *Late
}

func (b *lateBody) Read(into []byte) (int, error) {
	if b.left == 0 {
		<-b.late.Begun
		n, err := b.ReadCloser.Read(into)
		b.late.Found <- err
		return n, err
	}
	n, err := b.ReadCloser.Read(into)
	b.left -= int64(n)
	return n, err
}
