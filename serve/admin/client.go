package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"

	"github.com/yardmaster/yardmaster/serve/wire"
)

// Client asks services. It is safe for concurrent use.
type Client struct {
	nc       *nats.Conn
	subjects wire.Subjects
	service  string
}

// NewClient returns a client of the services below prefix, which are called service
// in the micro framework.
func NewClient(nc *nats.Conn, prefix, service string) (*Client, error) {
	subjects, err := wire.NewSubjects(prefix)
	if err != nil {
		return nil, err
	}
	return &Client{nc, subjects, service}, nil
}

// Answer is what one service said: a reply or a refusal.
type Answer struct {
	Reply   *Reply
	Refusal *wire.Error
}

// count is how long services have to say that they are there.
const count = 300 * time.Millisecond

// ErrNobody is wrapped by the error of a request that no service answered.
var ErrNobody = errors.New("admin: no service answered")

// Do asks every service below the prefix and returns their answers in the order in
// which they came: as many as there are services, or those there are when ctx ends.
func (c *Client) Do(ctx context.Context, endpoint string, request any) ([]Answer, error) {
	body, err := json.Marshal(request)
	if err != nil {
		return nil, fmt.Errorf("admin: %w", err)
	}
	n, err := c.services(ctx)
	if err != nil {
		return nil, err
	}
	inbox := c.nc.NewInbox()
	sub, err := c.nc.SubscribeSync(inbox)
	if err != nil {
		return nil, fmt.Errorf("admin: %w", err)
	}
	defer func() { _ = sub.Unsubscribe() }()
	if err := c.nc.PublishRequest(c.subjects.Admin()+"."+endpoint, inbox, body); err != nil {
		return nil, fmt.Errorf("admin: %w", err)
	}
	var answers []Answer
	for len(answers) < n {
		m, err := sub.NextMsgWithContext(ctx)
		if errors.Is(err, nats.ErrNoResponders) {
			err = fmt.Errorf("%w on %s.%s: is it running, with this prefix, and may this user ask?", ErrNobody, c.subjects.Admin(), endpoint)
		}
		if err != nil {
			return answers, err
		}
		a, err := answerOf(m)
		if err != nil {
			return answers, err
		}
		answers = append(answers, a)
	}
	return answers, nil
}

// services counts the services that answer a ping: one where none may be asked.
func (c *Client) services(ctx context.Context) (int, error) {
	inbox := c.nc.NewInbox()
	sub, err := c.nc.SubscribeSync(inbox)
	if err != nil {
		return 0, fmt.Errorf("admin: %w", err)
	}
	defer func() { _ = sub.Unsubscribe() }()
	subject, err := micro.ControlSubject(micro.PingVerb, c.service, "")
	if err != nil {
		return 0, fmt.Errorf("admin: %w", err)
	}
	if err := c.nc.PublishRequest(subject, inbox, nil); err != nil {
		return 0, fmt.Errorf("admin: %w", err)
	}
	bounded, cancel := context.WithTimeout(ctx, count)
	defer cancel()
	n := 0
	for {
		if _, err := sub.NextMsgWithContext(bounded); err != nil {
			return max(1, n), ctx.Err()
		}
		n++
	}
}

// answerOf reads what one service said.
func answerOf(m *nats.Msg) (Answer, error) {
	if m.Header.Get(micro.ErrorCodeHeader) != "" {
		refusal := new(wire.Error)
		if err := json.Unmarshal(m.Data, refusal); err != nil {
			return Answer{}, fmt.Errorf("admin: refusal %s cannot be read: %w", m.Header.Get(micro.ErrorHeader), err)
		}
		return Answer{Refusal: refusal}, nil
	}
	reply := new(Reply)
	if err := json.Unmarshal(m.Data, reply); err != nil {
		return Answer{}, fmt.Errorf("admin: reply cannot be read: %w", err)
	}
	if reply.Schema != Schema {
		return Answer{}, fmt.Errorf("admin: reply has schema %.64q, want %s", reply.Schema, Schema)
	}
	return Answer{Reply: reply}, nil
}
