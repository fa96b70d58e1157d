// ioredis over TLS: commands, a pipeline, messages, and a server that is not trusted.
const fs = require('fs');
const path = require('path');
const Redis = require('ioredis');

const port = Number(process.argv[2]);
const read = (name) => fs.readFileSync(path.join(process.argv[3], name));

function client(changes = {}) {
    const tls = { ca: read('ca.pem'), cert: read('client.pem'), key: read('client.key'), ...changes };
    const redis = new Redis({ host: '127.0.0.1', port, tls, retryStrategy: () => null, maxRetriesPerRequest: 0 });
    redis.on('error', () => {});
    return redis;
}

function expect(what, found, wanted) {
    if (JSON.stringify(found) !== JSON.stringify(wanted)) {
        throw new Error(`${what}: ${JSON.stringify(found)} instead of ${JSON.stringify(wanted)}`);
    }
}

async function main() {
    const redis = client();
    expect('PING', await redis.ping(), 'PONG');
    const big = 'x'.repeat(3000000);
    await redis.set('big', big);
    if ((await redis.get('big')) !== big) {
        throw new Error('a long value has changed on its way');
    }
    const pipeline = redis.pipeline();
    for (let n = 0; n < 10000; n += 1) {
        pipeline.set(`k${n}`, 'v'.repeat(n % 300));
    }
    const replies = await pipeline.exec();
    expect('a pipeline', replies.every(([error, reply]) => error === null && reply === 'OK'), true);
    expect('MGET', await redis.mget('k1', 'k2'), ['v', 'vv']);

    const listener = client();
    const heard = new Promise((resolve) => { listener.on('message', (channel, message) => resolve([channel, message])); });
    await listener.subscribe('c');
    expect('PUBLISH', await redis.publish('c', 'hello'), 1);
    expect('a message', await heard, ['c', 'hello']);

    for (const changes of [{ ca: read('other.pem') }, { cert: undefined, key: undefined }]) {
        const stranger = client(changes);
        const answer = await stranger.ping().catch(() => 'refused');
        expect('a stranger', answer, 'refused');
        stranger.disconnect();
    }
    await Promise.all([redis.quit(), listener.quit()]);
    console.log('ok');
}

main().catch((error) => {
    console.error(error);
    process.exit(1);
});
