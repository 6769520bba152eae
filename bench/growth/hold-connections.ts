// Opens connections to a server, sends one request on each, and holds them until its input ends: then it prints how many
// are still open. Arguments: port, number of connections.
import { connect, type Socket } from "node:net";

const [port = 0, count = 0] = process.argv.slice(2).map(Number);
/** How many are opened at once: fewer than a server's queue holds. */
const BATCH = 200;
const sockets = new Set<Socket>();

function open(): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const socket = connect({ port, host: "127.0.0.1" });
  socket.once("data", () => resolve());
  socket.once("error", reject);
  socket.once("close", () => sockets.delete(socket));
  socket.write("GET /json HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
  sockets.add(socket);
  return promise;
}

for (let opened = 0; opened < count; opened += BATCH) {
  await Promise.all(Array.from({ length: Math.min(BATCH, count - opened) }, open));
}
console.log("open");
process.stdin.resume().once("end", () => {
  console.log(sockets.size);
  process.exit();
});
