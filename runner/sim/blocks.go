package sim

// blockPool hands out the blocks of the key-value cache, counts who holds them, and finds full ones again by the hash
// of their contents. A block that nobody holds keeps its contents until it is reused.
type blockPool struct {
	blocks []block // the last is the sentinel of the list of free blocks
	byHash map[uint64]int32
	free   int
}

type block struct {
	hash       uint64 // 0: nothing to be found here
	holders    int32
	prev, next int32 // neighbours in the free list, from least to most recently used; only while nobody holds it
}

func newBlockPool(n int) *blockPool {
	p := &blockPool{blocks: make([]block, n+1), byHash: make(map[uint64]int32)}
	p.blocks[n] = block{prev: int32(n), next: int32(n)}
	for id := range int32(n) {
		p.push(id, p.sentinel())
	}
	return p
}

func (p *blockPool) sentinel() int32 { return int32(len(p.blocks) - 1) }

// total is how many blocks there are, free or held.
func (p *blockPool) total() int { return len(p.blocks) - 1 }

// push puts a block into the free list in front of another one.
func (p *blockPool) push(id, before int32) {
	after := p.blocks[before].prev
	p.blocks[id].prev, p.blocks[id].next = after, before
	p.blocks[after].next, p.blocks[before].prev = id, id
	p.free++
}

func (p *blockPool) unlink(id int32) {
	b := &p.blocks[id]
	p.blocks[b.prev].next, p.blocks[b.next].prev = b.next, b.prev
	p.free--
}

// find appends the blocks that hold the longest known beginning of a chain of hashes, and says how many of them nobody holds.
func (p *blockPool) find(into []int32, hashes []uint64) (found []int32, idle int) {
	found = into
	for _, h := range hashes {
		id, ok := p.byHash[h]
		if !ok {
			break
		}
		if p.blocks[id].holders == 0 {
			idle++
		}
		found = append(found, id)
	}
	return found, idle
}

// hold adds a holder to each of these blocks.
func (p *blockPool) hold(ids []int32) {
	for _, id := range ids {
		if p.blocks[id].holders == 0 {
			p.unlink(id)
		}
		p.blocks[id].holders++
	}
}

// alloc appends n blocks without contents. The caller has seen that as many are free.
func (p *blockPool) alloc(into []int32, n int) []int32 {
	for range n {
		id := p.blocks[p.sentinel()].next
		p.forget(id)
		p.unlink(id)
		p.blocks[id].holders = 1
		into = append(into, id)
	}
	return into
}

// name makes a full block findable; of two with equal contents the first is found.
func (p *blockPool) name(id int32, hash uint64) {
	if _, ok := p.byHash[hash]; ok || p.blocks[id].hash != 0 {
		return
	}
	p.blocks[id].hash = hash
	p.byHash[hash] = id
}

func (p *blockPool) forget(id int32) {
	if h := p.blocks[id].hash; h != 0 {
		delete(p.byHash, h)
		p.blocks[id].hash = 0
	}
}

// release takes one holder from each block of a sequence. The last blocks become the first to be reused, since a
// beginning is of use to more prompts than an end; blocks that nobody could find go before all others.
func (p *blockPool) release(ids []int32) {
	for i := len(ids) - 1; i >= 0; i-- {
		id := ids[i]
		p.blocks[id].holders--
		switch {
		case p.blocks[id].holders > 0:
		case p.blocks[id].hash == 0:
			p.push(id, p.blocks[p.sentinel()].next)
		default:
			p.push(id, p.sentinel())
		}
	}
}

// reset forgets all contents; it does nothing and says so while a block is held.
func (p *blockPool) reset() bool {
	if p.free < p.total() {
		return false
	}
	for id := range int32(p.total()) {
		p.forget(id)
	}
	return true
}
