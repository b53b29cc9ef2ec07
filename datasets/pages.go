package datasets

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// chunkShape is what the pages of a column chunk must fit.
type chunkShape struct {
	rows     int64
	optional bool // values may be null: pages carry definition levels of one bit
	kind     format.Type
	codec    format.CompressionCodec
	text     int64 // most bytes of a text: MaxName but where the table says otherwise
	// texts is how many bytes the long texts of the file may still come to; nil
	// where they are short.
	texts *int64
}

// budget returns how many bytes the pages of a chunk may come to when they are
// decompressed: twice what its values can take, since a dictionary may repeat
// them, levels included, and some for headers' sake.
func (s *chunkShape) budget() int64 {
	width := int64(8)
	if s.kind == format.ByteArray {
		width = s.text + 4
	}
	return 64<<10 + 2*s.rows*(width+1)
}

// pageGuard checks pages one at a time and keeps its buffers between them: what
// it returns of a page is valid until the next.
type pageGuard struct {
	codecs *codecs
	header []byte
	body   []byte
	plain  []byte // decompressed
}

// codecs are decoders that page guards may share.
type codecs struct{ zstd *zstd.Decoder }

func newPageGuard(c *codecs) *pageGuard {
	return &pageGuard{codecs: c, header: make([]byte, maxPageHeader)}
}

func (c *codecs) close() {
	if c.zstd != nil {
		c.zstd.Close()
	}
}

// dataPage is a page of values whose encoding has been checked.
type dataPage struct {
	values, present int    // with nulls, without
	levels          []byte // definition levels; nil where no value may be null
	encoding        format.Encoding
	data            []byte // the values that are present
}

// chunkPages walks over the pages of a column chunk.
type chunkPages struct {
	guard      *pageGuard
	r          io.ReaderAt
	start, end int64
	shape      chunkShape
	budget     int64 // of bytes, decompressed
	values     int64 // so far
	dictionary int   // number of entries; -1 is none
	first      bool
}

func (g *pageGuard) walk(r io.ReaderAt, start, end int64, shape chunkShape) *chunkPages {
	return &chunkPages{guard: g, r: r, start: start, end: end, shape: shape, budget: shape.budget(), dictionary: -1, first: true}
}

// next returns the next page: a dictionary of plain values, or a page of values.
// The error is io.EOF after the last, by when there were as many values as rows.
func (c *chunkPages) next() (dictionary []byte, page dataPage, err error) {
	if c.start >= c.end {
		if c.values != c.shape.rows {
			return nil, page, fmt.Errorf("pages with %d values for %d rows", c.values, c.shape.rows)
		}
		return nil, page, io.EOF
	}
	header, length, err := c.guard.readHeader(c.r, c.start, c.end)
	if err != nil {
		return nil, page, err
	}
	c.start += length
	if err := checkSizes(header, c.end-c.start); err != nil {
		return nil, page, err
	}
	if c.budget -= int64(header.UncompressedPageSize); c.budget < 0 {
		return nil, page, tooLong(c.shape)
	}
	if c.shape.texts != nil {
		if *c.shape.texts -= int64(header.UncompressedPageSize); *c.shape.texts < 0 {
			return nil, page, &RowError{Value: "more text than a table may hold", Fix: "split the table"}
		}
	}
	body, err := readInto(&c.guard.body, c.r, c.start, int(header.CompressedPageSize))
	if err != nil {
		return nil, page, err
	}
	if header.CRC != 0 && crc32.ChecksumIEEE(body) != uint32(header.CRC) {
		return nil, page, errors.New("a page with a wrong checksum")
	}
	c.start += int64(len(body))
	first := c.first
	c.first = false
	if header.Type == format.DictionaryPage {
		if !first {
			return nil, page, errors.New("a dictionary that is not the first page")
		}
		c.dictionary, dictionary, err = c.guard.checkDictionary(header, body, c.shape)
		return dictionary, page, err
	}
	page, err = c.guard.checkData(header, body, c.shape, c.dictionary, c.shape.rows-c.values)
	c.values += int64(page.values)
	return nil, page, err
}

// check checks all pages that are left.
func (c *chunkPages) check() error {
	for {
		if _, _, err := c.next(); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
	}
}

// tooLong says that a chunk has more data than its rows can need.
func tooLong(shape chunkShape) error {
	what := fmt.Sprintf("more than %d bytes in %d rows", shape.budget(), shape.rows)
	if shape.kind == format.ByteArray {
		return &RowError{Value: what, Fix: fmt.Sprintf("are there very long strings? want at most %d bytes of UTF-8", shape.text)}
	}
	return errors.New(what)
}

// readHeader reads the page header at start and returns its length. Most are
// short; statistics of long strings make them longer.
func (g *pageGuard) readHeader(r io.ReaderAt, start, end int64) (*format.PageHeader, int64, error) {
	var buf []byte
	n, err := 0, errCompact
	for size := int64(512); err != nil && int64(len(buf)) < min(end-start, maxPageHeader); size = maxPageHeader {
		buf = g.header[:min(size, end-start)]
		if _, err := r.ReadAt(buf, start); err != nil {
			return nil, 0, fmt.Errorf("read a page header: %w", err)
		}
		n, err = compactLen(buf, 0)
	}
	if err != nil && len(buf) == maxPageHeader {
		return nil, 0, &RowError{Value: fmt.Sprintf("a page header of more than %d bytes", maxPageHeader), Fix: "are there very long strings? want at most 256 bytes of UTF-8"}
	}
	if err != nil {
		return nil, 0, fmt.Errorf("page header: %w", err)
	}
	header := new(format.PageHeader)
	if err := thrift.Unmarshal(new(thrift.CompactProtocol), buf[:n], header); err != nil {
		return nil, 0, fmt.Errorf("page header: %w", err)
	}
	return header, int64(n), nil
}

func checkSizes(h *format.PageHeader, left int64) error {
	if h.CompressedPageSize < 0 || int64(h.CompressedPageSize) > left {
		return fmt.Errorf("a page of %d bytes where %d are left", h.CompressedPageSize, left)
	}
	if h.UncompressedPageSize < 0 || h.UncompressedPageSize > maxPage {
		return fmt.Errorf("a page of %d bytes uncompressed, want at most %d", h.UncompressedPageSize, maxPage)
	}
	return nil
}

// readInto reads n bytes at an offset into *buf, which it grows as needed.
func readInto(buf *[]byte, r io.ReaderAt, offset int64, n int) ([]byte, error) {
	if cap(*buf) < n {
		*buf = make([]byte, n)
	}
	b := (*buf)[:n]
	if n == 0 {
		return b, nil
	}
	if _, err := r.ReadAt(b, offset); err != nil {
		return nil, fmt.Errorf("read a page: %w", err)
	}
	return b, nil
}

// checkDictionary checks a dictionary page and returns its number of entries and
// their values, one after the other.
func (g *pageGuard) checkDictionary(h *format.PageHeader, body []byte, shape chunkShape) (int, []byte, error) {
	if !h.DictionaryPageHeader.Valid {
		return 0, nil, errors.New("a dictionary page without its header")
	}
	d := &h.DictionaryPageHeader.V
	if d.Encoding != format.Plain && d.Encoding != plainDictionary {
		return 0, nil, unsupported("dictionary", d.Encoding)
	}
	data, err := g.decompress(shape.codec, body, int(h.UncompressedPageSize))
	if err != nil {
		return 0, nil, err
	}
	n := int(d.NumValues)
	if n < 0 {
		return 0, nil, fmt.Errorf("a dictionary of %d entries", n)
	}
	return n, data, checkPlain(data, n, shape.kind)
}

// checkData checks a data page, whose values, nulls included, are at most left.
func (g *pageGuard) checkData(h *format.PageHeader, body []byte, shape chunkShape, dictionary int, left int64) (page dataPage, err error) {
	switch {
	case h.Type == format.DataPage && h.DataPageHeader.Valid:
		v := &h.DataPageHeader.V
		page.values, page.encoding = int(v.NumValues), v.Encoding
		if err := checkCount(page.values, left); err != nil {
			return page, err
		}
		if page.data, err = g.decompress(shape.codec, body, int(h.UncompressedPageSize)); err != nil {
			return page, err
		}
		err = page.levelsV1(v, shape)
	case h.Type == format.DataPageV2 && h.DataPageHeaderV2.Valid:
		v := &h.DataPageHeaderV2.V
		page.values, page.encoding = int(v.NumValues), v.Encoding
		if err := checkCount(page.values, left); err != nil {
			return page, err
		}
		err = g.levelsV2(&page, h, body, shape)
	default:
		return page, fmt.Errorf("a page of type %d without its header", h.Type)
	}
	if err != nil {
		return page, err
	}
	return page, checkEncoded(page.data, page.encoding, page.present, dictionary, shape.kind)
}

func checkCount(values int, left int64) error {
	if values < 0 || int64(values) > left {
		return fmt.Errorf("a page of %d values where %d are left", values, left)
	}
	return nil
}

// levelsV1 takes the levels off the page's data.
func (p *dataPage) levelsV1(v *format.DataPageHeader, shape chunkShape) (err error) {
	if !shape.optional {
		p.present = p.values
		return nil
	}
	if v.DefinitionLevelEncoding != format.RLE {
		return unsupported("definition level", v.DefinitionLevelEncoding)
	}
	if len(p.data) < 4 || uint64(binary.LittleEndian.Uint32(p.data)) > uint64(len(p.data)-4) {
		return errors.New("definition levels longer than their page")
	}
	n := 4 + int(binary.LittleEndian.Uint32(p.data))
	p.levels, p.data = p.data[4:n:n], p.data[n:]
	p.present, err = countLevels(p.levels, p.values)
	return err
}

// levelsV2 is levelsV1 for pages whose levels stand before the compressed part.
func (g *pageGuard) levelsV2(p *dataPage, h *format.PageHeader, body []byte, shape chunkShape) (err error) {
	v := &h.DataPageHeaderV2.V
	n := int(v.DefinitionLevelsByteLength)
	if v.RepetitionLevelsByteLength != 0 || n < 0 || n > len(body) || n > int(h.UncompressedPageSize) {
		return fmt.Errorf("levels of %d and %d bytes in a page of %d", v.RepetitionLevelsByteLength, n, len(body))
	}
	if int64(v.NumRows) != int64(v.NumValues) {
		return fmt.Errorf("%d values in %d rows", v.NumValues, v.NumRows)
	}
	p.present = p.values
	if shape.optional {
		p.levels = body[:n:n]
		if p.present, err = countLevels(p.levels, p.values); err != nil {
			return err
		}
	}
	if int(v.NumNulls) != p.values-p.present {
		return fmt.Errorf("%d nulls where its levels say %d", v.NumNulls, p.values-p.present)
	}
	if v.IsCompressed.Valid && !v.IsCompressed.V {
		p.data = body[n:]
		return nil
	}
	p.data, err = g.decompress(shape.codec, body[n:], int(h.UncompressedPageSize)-n)
	return err
}

// decompress returns body decompressed, which must come to exactly size bytes.
// The result is valid until the next call.
func (g *pageGuard) decompress(codec format.CompressionCodec, body []byte, size int) ([]byte, error) {
	if codec == format.Uncompressed {
		return body, nil
	}
	if cap(g.plain) < size+1 {
		g.plain = make([]byte, size+1)
	}
	out, err := g.decode(codec, body, size)
	if err != nil {
		return nil, fmt.Errorf("decompress a page: %w", err)
	}
	if len(out) != size {
		return nil, fmt.Errorf("a page of %d bytes that should have %d", len(out), size)
	}
	return out, nil
}

// decode decompresses into g.plain without growing it: it has room for one
// byte too many, so that an overlong page is seen and not followed.
func (g *pageGuard) decode(codec format.CompressionCodec, body []byte, size int) ([]byte, error) {
	dst := g.plain[: 0 : size+1]
	switch codec {
	case format.Zstd:
		if g.codecs.zstd == nil {
			d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecodeAllCapLimit(true), zstd.WithDecoderMaxMemory(maxPage))
			if err != nil {
				return nil, err
			}
			g.codecs.zstd = d
		}
		return g.codecs.zstd.DecodeAll(body, dst)
	case format.Snappy:
		if n, err := snappy.DecodedLen(body); err != nil || n != size {
			return nil, fmt.Errorf("%d bytes that should be %d: %w", n, size, errors.Join(err, snappy.ErrCorrupt))
		}
		return snappy.Decode(dst[:size], body)
	case format.Gzip:
		z, err := gzip.NewReader(bytes.NewReader(body))
		if err != nil {
			return nil, err
		}
		n, err := io.ReadFull(z, dst[:size+1])
		if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
			err = nil // shorter than the room for one byte too many
		}
		return dst[:n], err
	}
	return nil, &RowError{Value: "compressed with " + codec.String(), Fix: "write it with zstd, snappy, gzip or no compression"}
}
