package sim

import "net/http"

func (s *Server) tokenize(w http.ResponseWriter, r *http.Request) {
	a, refused := s.read(w, r)
	if refused != nil {
		writeError(w, refused)
		return
	}
	tokens := chatTokens(a.Messages, s.cfg.VocabSize)
	if len(a.Messages) == 0 {
		if tokens, refused = promptTokens(a.Prompt, s.cfg.VocabSize); refused != nil {
			writeError(w, refused)
			return
		}
	}
	if tokens == nil {
		tokens = []int32{}
	}
	writeJSON(w, http.StatusOK, struct {
		Count       int      `json:"count"`
		MaxModelLen int      `json:"max_model_len"`
		Tokens      []int32  `json:"tokens"`
		TokenStrs   []string `json:"token_strs"`
	}{len(tokens), s.cfg.MaxModelLen, tokens, nil})
}

func (s *Server) detokenize(w http.ResponseWriter, r *http.Request) {
	var a struct {
		Model  string  `json:"model"`
		Tokens []int32 `json:"tokens"`
	}
	if refused := decode(w, r, &a); refused != nil {
		writeError(w, refused)
		return
	}
	if id, foreign := outside(a.Tokens, s.cfg.VocabSize); foreign {
		writeError(w, badRequest("tokens", "Token id %d is not in the vocabulary.", id))
		return
	}
	writeJSON(w, http.StatusOK, map[string]string{"prompt": string(appendText(nil, a.Tokens))})
}
