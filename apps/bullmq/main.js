// Jobs of every kind that BullMQ has, done once each.
const { FlowProducer, Queue, QueueEvents, Worker } = require('bullmq');

const connection = { host: '127.0.0.1', port: Number(process.argv[2]) };
const PLAIN = 50;
// Plain ones, one of each other kind, and three repeats.
const EXPECTED = PLAIN + 4 + 3;

async function main() {
    const queue = new Queue('jobs', { connection });
    const worker = new Worker('jobs', async (job) => {
        if (job.name === 'fails-once' && job.attemptsMade === 0) {
            throw new Error('once');
        }
        return job.data.n * 2;
    }, { connection, concurrency: 4, limiter: { max: 50, duration: 200 } });
    const events = new QueueEvents('jobs', { connection });
    let told = 0;
    events.on('completed', () => { told += 1; });
    await Promise.all([worker.waitUntilReady(), events.waitUntilReady()]);

    await queue.addBulk(Array.from({ length: PLAIN }, (_, n) => ({ name: 'plain', data: { n } })));
    await queue.add('delayed', { n: 1 }, { delay: 300 });
    await queue.add('fails-once', { n: 2 }, { attempts: 3, backoff: 50 });
    await queue.add('prioritized', { n: 3 }, { priority: 5 });
    const waited = await queue.add('waited-for', { n: 21 });
    expect('the result of a job', await waited.waitUntilFinished(events), 42);
    await queue.upsertJobScheduler('repeated', { every: 100, limit: 3 }, { name: 'repeated', data: { n: 0 } });

    const flows = new FlowProducer({ connection });
    const adder = new Worker('flow', async (job) => {
        if (job.name === 'child') {
            return job.data.n;
        }
        return Object.values(await job.getChildrenValues()).reduce((sum, n) => sum + n, 0);
    }, { connection });
    const flowEvents = new QueueEvents('flow', { connection });
    await flowEvents.waitUntilReady();
    const children = [1, 2, 3].map((n) => ({ name: 'child', queueName: 'flow', data: { n } }));
    const flow = await flows.add({ name: 'parent', queueName: 'flow', children });
    expect('the sum of a flow', await flow.job.waitUntilFinished(flowEvents), 6);

    const end = Date.now() + 30_000;
    let counts = await queue.getJobCounts();
    while (Date.now() < end && (counts.completed < EXPECTED || told < EXPECTED)) {
        await new Promise((resolve) => { setTimeout(resolve, 50); });
        counts = await queue.getJobCounts();
    }
    expect('completed jobs', counts.completed, EXPECTED);
    expect('failed jobs', counts.failed, 0);
    expect('events of completed jobs', told, EXPECTED);
    await Promise.all([worker, adder, events, flowEvents, queue, flows].map((part) => part.close()));
}

function expect(what, found, wanted) {
    if (found !== wanted) {
        throw new Error(`${what}: ${found} instead of ${wanted}`);
    }
}

main().then(() => process.exit(0), (error) => {
    console.error(error);
    process.exit(1);
});
