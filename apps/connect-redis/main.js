// Sessions of express-session in connect-redis: they are kept, touched, listed, expire and are destroyed.
const assert = require("assert");
const { promisify } = require("util");
const { createClient } = require("redis");
const { default: RedisStore } = require("connect-redis");

async function main() {
  const client = createClient({ url: `redis://127.0.0.1:${process.argv[2]}` });
  await client.connect();
  const store = new RedisStore({ client, prefix: "session:", ttl: 100 });
  const call = (name) => promisify(store[name].bind(store));
  const [set, get, touch, destroy, all, ids, length, clear] =
    ["set", "get", "touch", "destroy", "all", "ids", "length", "clear"].map(call);

  const session = (user, seconds) => ({ user, cookie: { expires: new Date(Date.now() + seconds * 1000) } });
  for (let n = 0; n < 250; n++) {
    await set(`id${n}`, session(`user ${n}`, 1000));
  }
  assert.strictEqual((await get("id7")).user, "user 7");
  assert.strictEqual(await get("nobody"), undefined);
  assert.strictEqual(await length(), 250);
  assert.strictEqual((await all()).length, 250);
  assert.deepStrictEqual((await ids()).sort()[0], "id0");

  await touch("id7", session("user 7", 5000));
  const left = await client.ttl("session:id7");
  assert(left > 4900 && left <= 5000, `${left} seconds`);
  await set("short", session("short", 0.05));
  while ((await get("short")) !== undefined) {
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  await destroy("id7");
  assert.strictEqual(await get("id7"), undefined);
  await clear();
  assert.strictEqual(await length(), 0);
  await client.quit();
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
