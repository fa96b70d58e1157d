// Two servers of socket.io with the redis adapter between them: rooms, broadcasts, requests to all servers.
const assert = require("assert");
const { createServer } = require("http");
const { createClient } = require("redis");
const { Server } = require("socket.io");
const { io: connect } = require("socket.io-client");
const { createAdapter } = require("@socket.io/redis-adapter");

const url = `redis://127.0.0.1:${process.argv[2]}`;

async function node() {
  const publisher = createClient({ url });
  const subscriber = publisher.duplicate();
  await Promise.all([publisher.connect(), subscriber.connect()]);
  const http = createServer();
  const io = new Server(http, { adapter: createAdapter(publisher, subscriber) });
  io.on("connection", (socket) => socket.on("join", async (room, done) => done(await socket.join(room))));
  await new Promise((resolve) => http.listen(0, "127.0.0.1", resolve));
  const close = async () => {
    await new Promise((resolve) => io.close(resolve));
    await Promise.all([publisher.quit(), subscriber.quit()]);
  };
  return { io, port: http.address().port, close };
}

async function client(port, room) {
  const socket = connect(`http://127.0.0.1:${port}`, { transports: ["websocket"] });
  await new Promise((resolve) => socket.on("connect", resolve));
  const heard = [];
  socket.on("news", (text) => heard.push(text));
  socket.on("question", (text, answer) => answer(`${room} heard ${text}`));
  await socket.emitWithAck("join", room);
  return { socket, heard };
}

async function main() {
  const nodes = await Promise.all([node(), node()]);
  const clients = await Promise.all([
    client(nodes[0].port, "red"),
    client(nodes[0].port, "blue"),
    client(nodes[1].port, "red"),
    client(nodes[1].port, "blue"),
  ]);
  for (let n = 0; n < 20; n++) {
    nodes[n % 2].io.emit("news", `all ${n}`);
    nodes[n % 2].io.to("red").emit("news", `red ${n}`);
  }
  // Both servers answer, each for its clients.
  const answers = await nodes[0].io.timeout(10000).to("blue").emitWithAck("question", "last");
  assert.deepStrictEqual(answers, ["blue heard last", "blue heard last"]);
  assert.strictEqual((await nodes[1].io.fetchSockets()).length, 4);
  assert.strictEqual((await nodes[1].io.in("red").fetchSockets()).length, 2);
  const wanted = (room) => (room === "red" ? 40 : 20);
  const rooms = ["red", "blue", "red", "blue"];
  for (let waited = 0; clients.some(({ heard }, i) => heard.length < wanted(rooms[i])); waited++) {
    assert(waited < 1000, "messages are missing");
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  clients.forEach(({ heard, socket }, i) => {
    assert.strictEqual(heard.length, wanted(rooms[i]));
    assert.strictEqual(new Set(heard).size, heard.length);
    socket.disconnect();
  });
  await Promise.all(nodes.map(({ close }) => close()));
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
