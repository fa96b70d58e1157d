// Locks of redlock: one holder at a time, extension, expiry, refusal.
const assert = require("assert");
const Redis = require("ioredis");
const { default: Redlock, ExecutionError, ResourceLockedError } = require("redlock");

const port = Number(process.argv[2]);
const WORKERS = 8;
const TURNS = 10;

async function main() {
  const redis = new Redis({ port });
  const patient = new Redlock([redis], { retryCount: 2000, retryDelay: 5, retryJitter: 5 });
  const hasty = new Redlock([redis], { retryCount: 0 });
  hasty.on("error", (error) => assert(error instanceof ResourceLockedError, error));
  patient.on("error", (error) => assert(error instanceof ResourceLockedError, error));

  // Each reads, thinks and writes; without the lock they would overwrite each other.
  await redis.set("count", 0);
  const worker = async () => {
    for (let turn = 0; turn < TURNS; turn++) {
      await patient.using(["lock:count"], 5000, async (signal) => {
        const count = Number(await redis.get("count"));
        await new Promise((resolve) => setTimeout(resolve, 1));
        assert(!signal.aborted);
        await redis.set("count", count + 1);
      });
    }
  };
  await Promise.all(Array.from({ length: WORKERS }, worker));
  assert.strictEqual(Number(await redis.get("count")), WORKERS * TURNS);

  let lock = await hasty.acquire(["lock:a", "lock:b"], 60000);
  await assert.rejects(hasty.acquire(["lock:b"], 1000), ExecutionError);
  lock = await lock.extend(90000);
  assert((await redis.pttl("lock:a")) > 60000);
  await lock.release();
  assert.strictEqual(await redis.exists("lock:a", "lock:b"), 0);
  await assert.rejects(lock.release(), ExecutionError);

  await hasty.acquire(["lock:c"], 50);
  const next = await patient.acquire(["lock:c"], 1000);
  await next.release();
  await redis.quit();
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
