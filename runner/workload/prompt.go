package workload

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/inference-sweep/sweep/sweep"
)

// promptWords is a prompt in one of its two forms.
type promptWords struct {
	ids  []int64
	text string
}

// saltTokens begin a prompt that shares its head with others although the cache is to be cold: caches hash a prompt
// from its start, so a few tokens of its own keep all that follows from being found.
const saltTokens = 8

// generator is the random source of one piece of text of one trial.
func (m *Maker) generator(what string) *rand.Rand {
	sum := sha256.Sum256([]byte("sweep text " + m.nonce + " " + what))
	return rand.New(rand.NewPCG(binary.BigEndian.Uint64(sum[:8]), binary.BigEndian.Uint64(sum[8:16])))
}

// prompt draws the prompt of a request: its group's head, where the contract has one, and a rest of its own.
func (m *Maker) prompt(phase sweep.Phase, index int, input int64) promptWords {
	own := m.generator(fmt.Sprintf("%s %d", phaseStream(phase), index))
	shared := m.cell.Contract.Prompt.Shared
	if shared == nil || int64(shared.Tokens) >= input {
		return m.draw(own, input)
	}
	salt := int64(0)
	if c := m.cell.Contract.PrefixCache; c.Enabled && c.State == "cold" && c.By == "salt" {
		salt = min(saltTokens, input-int64(shared.Tokens))
	}
	head := m.Head(index % int(shared.Groups))
	return join(m.draw(own, salt), head, m.draw(own, input-int64(shared.Tokens)-salt))
}

// phaseStream keeps warm-up and cold prompts apart from those measured: no prompt is ever sent twice. The tail goes on
// with the numbers of the window.
func phaseStream(phase sweep.Phase) string {
	if phase == sweep.PhaseTail {
		return string(sweep.PhaseMeasure)
	}
	return string(phase)
}

// Head is what the prompts of a group have in common. It is empty where the contract shares nothing.
func (m *Maker) Head(group int) promptWords {
	shared := m.cell.Contract.Prompt.Shared
	if shared == nil {
		return promptWords{}
	}
	return m.draw(m.generator(fmt.Sprintf("head %d", group)), int64(shared.Tokens))
}

// Priming is the body that fills the prefix cache with a group's head.
func (m *Maker) Priming(group int) []byte { return m.body(m.Head(group), 1) }

// draw makes a piece of a prompt of so many tokens.
func (m *Maker) draw(r *rand.Rand, tokens int64) promptWords {
	if tokens <= 0 {
		return promptWords{}
	}
	if m.asText() {
		return promptWords{text: Words(r, m.words(tokens))}
	}
	ids := m.cell.Contract.Prompt.IDs
	drawn := make([]int64, tokens)
	for i := range drawn {
		drawn[i] = ids.From + r.Int64N(max(ids.To-ids.From, 1))
	}
	return promptWords{ids: drawn}
}

func join(parts ...promptWords) promptWords {
	var whole promptWords
	var texts []string
	for _, p := range parts {
		whole.ids = append(whole.ids, p.ids...)
		if p.text != "" {
			texts = append(texts, p.text)
		}
	}
	whole.text = strings.Join(texts, " ")
	return whole
}

// Words is random text of so many words, each common enough to be one token, or nearly, to most tokenizers.
func Words(r *rand.Rand, n int) string {
	var text strings.Builder
	for i := range n {
		if i > 0 {
			text.WriteByte(' ')
		}
		text.WriteString(vocabulary[r.IntN(len(vocabulary))])
	}
	return text.String()
}

var vocabulary = strings.Fields(`
able about above across act add after again age air all also always am among and animal answer any appear apple area
arm art as ask at away back bad ball bank base be bear beat bed been before began begin behind believe below beside
best better between big bird black blood blue board boat body bone book born both box boy bread break bring brother
brown build burn busy but buy by call came camp can capital captain car care carry case cat catch cause cell center
certain chair chance change chief child choose circle city claim class clean clear climb clock close cloth cloud coast
coat cold color come common company control cook cool copy corn corner cost cotton could count country course cover
cow create crop cross crowd cry current cut dance dark day dead deal dear death decide deep degree depend desert
design did die differ direct do doctor dog dollar door double down draw dream dress drink drive drop dry during each
ear early earth east easy eat edge effect egg eight either end enemy energy engine enough enter equal even evening
event ever every exact example except eye face fact fair fall family famous far farm fast father favor fear feed feel
feet fell few field fig fight figure fill final find fine finger finish fire first fish fit five flat floor flow flower
fly follow food foot for force forest form forward found four free fresh friend from front fruit full fun game garden
gas gather gave general get girl give glad glass go gold gone good got govern grand grass gray great green ground group
grow guess gun had hair half hand happen happy hard has hat have he head hear heart heat heavy held help her here high
hill him his history hit hold hole home hope horse hot hour house how huge human hundred hunt hurry ice idea if in inch
include industry insect iron is island it job join joy jump just keep key kill kind king knew know lady lake land
language large last late laugh law lay lead learn least leave led left leg length less let letter level lie life lift
light like line list listen little live locate log lone long look lost lot loud love low machine made magnet main major
make man many map mark market mass master match matter may me mean measure meat meet melody men metal method middle
might mile milk million mind mine minute miss mix modern moment money month moon more morning most mother motion mount
mountain mouth move much multiply music must my name nation natural nature near neck need neighbor never new next night
nine no noise noon nor north nose note nothing notice noun now number object ocean of off offer office often oil old on
once one only open or order other our out over own oxygen page paint pair paper part party pass past path pay people
perhaps period person phrase pick picture piece place plain plan plane planet plant play please plural poem point poor
port pose position possible post pound power press pretty print problem process produce product proper protect prove
provide pull push put quart question quick quiet race radio rail rain raise ran range rather reach read ready real
reason receive record red region remember repeat reply rest result rich ride right ring rise river road rock roll room
root rope rose round row rub rule run safe said sail salt same sand save saw say scale school science sea search season
seat second section see seed seem select self sell send sense sent sentence separate serve set seven several shall
shape share sharp she sheet shell shine ship shoe shop short should shoulder shout show side sight sign silent silver
similar simple since sing single sister sit six size skill skin sky sleep slip slow small smell smile snow so soft soil
soldier solution some son song soon sound south space speak special speech speed spell spend spoke spot spread spring
square stand star start state station stay steam steel step stick still stone stood stop store story straight strange
stream street string strong student study subject success such sudden sugar suggest suit summer sun supply support sure
surface surprise swim system table tail take talk tall teach team tell ten term test than thank that the their them
then there these they thick thin thing think third this those though thought thousand three through throw thus tie time
tiny tire to together told tone too took tool top total touch toward town track trade train travel tree triangle trip
trouble truck true try tube turn twenty two type under unit until up us use usual valley value vary verb very view
village visit voice vowel wait walk wall want war warm was wash watch water wave way we wear weather week weight well
went were west what wheel when where which while white who whole whose why wide wife wild will win wind window wing
winter wire wish with woman women wonder wood word work world would write written wrong yard year yellow yes yet you
young your`)

// Sample is a fixed text of so many words, to ask a tokenizer about.
func Sample(words int) string { return Words(rand.New(rand.NewPCG(1, 2)), words) }
