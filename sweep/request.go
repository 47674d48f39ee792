package sweep

// Request is one request as it happened: exactly one a due time, whatever became of it. All times are nanoseconds on
// the monotonic clock; a time, count or status that does not exist is None.
type Request struct {
	// Seq numbers the trial's requests from 0, over all its phases, in the order of their due times.
	Seq   int64
	Phase Phase
	// RequestID was sent as the X-Request-Id header.
	RequestID string

	// DueNS and SentNS count from the trial's start. Sent is just before the request's first byte on a ready
	// connection; None if it was never sent. In a closed loop due equals sent.
	DueNS  int64
	SentNS int64
	// QueueNS runs from due to the moment the client took the request up.
	QueueNS int64
	// DialNS is connecting and TLS, 0 on a kept connection; ConnNew says that this request had the connection made.
	DialNS  int64
	ConnNew bool

	// These count from SentNS.
	WrittenNS    int64 // the request's last byte was written
	TTFBNS       int64 // first byte of the response
	FirstTokenNS int64 // first output event
	AnswerNS     int64 // first output event that is not reasoning
	LastTokenNS  int64 // last output event
	EndNS        int64 // end of the stream, or of the attempt where it failed
	// ServerQueueNS is the server's own word for the time in its queue.
	ServerQueueNS int64

	// Tokens. A source is "usage" or "token_ids", empty where nobody counted (the count is then None).
	InputAsked      int64
	InputTokens     int64
	InputSource     string
	OutputAsked     int64
	OutputTokens    int64
	OutputSource    string
	FirstTokens     int64 // tokens in the first output event
	CachedTokens    int64
	ReasoningTokens int64
	Chunks          int64 // output events

	Status        string // RequestOK or RequestFailed
	Error         string // one of the Err kinds; empty where ok
	ErrorMessage  string
	HTTPStatus    int64
	RetryAfterNS  int64
	FinishReason  string
	ResponseModel string
	Marks         []string // no-done, malformed, ttft-by-usage, …

	// ChunkLog is the stored blob of output events: see AppendChunk.
	ChunkLog []byte
	// Text is the answer, kept only on request.
	Text string
}

// TPOTNS is the time per output token after the first, in nanoseconds: (last token − first token) ÷ (tokens − 1).
// It does not exist for fewer than two tokens, nor where nobody counted them.
func (r *Request) TPOTNS() (float64, bool) {
	if r.FirstTokenNS == None || r.LastTokenNS == None || r.OutputTokens == None || r.OutputTokens < 2 {
		return 0, false
	}
	return float64(r.LastTokenNS-r.FirstTokenNS) / float64(r.OutputTokens-1), true
}

// FromDueNS turns a time counted from sent into one counted from due; None stays None.
func (r *Request) FromDueNS(ns int64) int64 {
	if ns == None || r.SentNS == None {
		return None
	}
	return r.SentNS - r.DueNS + ns
}

// NewRequest is a request of which nothing is known: every number that can be absent is None.
func NewRequest() *Request {
	return &Request{
		DueNS: None, SentNS: None, QueueNS: None, DialNS: None,
		WrittenNS: None, TTFBNS: None, FirstTokenNS: None, AnswerNS: None, LastTokenNS: None, EndNS: None, ServerQueueNS: None,
		InputAsked: None, InputTokens: None, OutputAsked: None, OutputTokens: None,
		FirstTokens: None, CachedTokens: None, ReasoningTokens: None, Chunks: None,
		HTTPStatus: None, RetryAfterNS: None,
	}
}
