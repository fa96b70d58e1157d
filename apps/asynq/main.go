// Tasks of asynq: plain, scheduled, retried and unique ones.
package main

import (
	"context"
	"errors"
	"log"
	"os"
	"sync/atomic"
	"time"

	"github.com/hibiken/asynq"
)

const plainTasks = 50

// Plain ones, one that is scheduled and one that is tried twice.
const expected = plainTasks + 2

func main() {
	server := asynq.RedisClientOpt{Addr: "127.0.0.1:" + os.Args[1]}
	client := asynq.NewClient(server)
	defer client.Close()
	var done, attempts atomic.Int64
	worker := asynq.NewServer(server, asynq.Config{
		Concurrency:              4,
		LogLevel:                 asynq.ErrorLevel,
		DelayedTaskCheckInterval: 200 * time.Millisecond,
		RetryDelayFunc:           func(int, error, *asynq.Task) time.Duration { return 100 * time.Millisecond },
		ErrorHandler:             asynq.ErrorHandlerFunc(func(context.Context, *asynq.Task, error) {}),
	})
	handlers := asynq.NewServeMux()
	handlers.HandleFunc("plain", func(context.Context, *asynq.Task) error {
		done.Add(1)
		return nil
	})
	handlers.HandleFunc("fails-once", func(context.Context, *asynq.Task) error {
		if attempts.Add(1) == 1 {
			return errors.New("once")
		}
		done.Add(1)
		return nil
	})
	must(worker.Start(handlers))
	for range plainTasks {
		put(client, asynq.NewTask("plain", nil), asynq.Retention(time.Minute))
	}
	put(client, asynq.NewTask("plain", nil), asynq.ProcessIn(time.Second))
	put(client, asynq.NewTask("fails-once", nil))
	unique := asynq.NewTask("plain", []byte("unique"))
	put(client, unique, asynq.Unique(time.Minute), asynq.ProcessIn(time.Hour))
	if _, err := client.Enqueue(unique, asynq.Unique(time.Minute)); !errors.Is(err, asynq.ErrDuplicateTask) {
		log.Fatalf("a unique task came in twice: %v", err)
	}
	for end := time.Now().Add(30 * time.Second); done.Load() < expected && time.Now().Before(end); {
		time.Sleep(50 * time.Millisecond)
	}
	queue, err := asynq.NewInspector(server).GetQueueInfo("default")
	must(err)
	worker.Shutdown()
	if done.Load() != expected || queue.Completed != plainTasks || queue.Scheduled != 1 {
		log.Fatalf("done %d, completed %d, scheduled %d", done.Load(), queue.Completed, queue.Scheduled)
	}
}

func put(client *asynq.Client, task *asynq.Task, options ...asynq.Option) {
	_, err := client.Enqueue(task, options...)
	must(err)
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
