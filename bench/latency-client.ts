// Sends bursts on a schedule, whether or not the last one got its responses (an open loop), and prints the response times
// in milliseconds from the scheduled time. latency.ts runs it on a separate processor.
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { performance } from "node:perf_hooks";
import { setTimeout as sleep } from "node:timers/promises";

const [port, path, connections, bursts, intervalMs] = process.argv.slice(2) as [string, string, string, string, string];
const REQUEST = `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`;
const END = "}";

interface Client {
  readonly socket: Socket;
  /** When the requests without a response were due. */
  readonly due: number[];
}

const latencies: number[] = [];
const firsts: number[] = [];
let first = Number.POSITIVE_INFINITY;

async function open(): Promise<Client> {
  const socket = connect(Number(port), "127.0.0.1").setNoDelay(true).setEncoding("latin1");
  await once(socket, "connect");
  const due: number[] = [];
  // Every response is the JSON {"hello":"world"}, which ends with its only closing brace.
  socket.on("data", (text: string) => {
    if (/HTTP\/1\.1 [^2]/.test(text)) throw new Error(`Refused: ${text.slice(0, 200)}`);
    for (const character of text) {
      if (character !== END) continue;
      const took = performance.now() - due.shift()!;
      latencies.push(took);
      first = Math.min(first, took);
    }
  });
  return { socket, due };
}

const clients = await Promise.all(Array.from({ length: Number(connections) }, open));
const start = performance.now() + 20;
for (let burst = 0; burst < Number(bursts); burst++) {
  const at = start + burst * Number(intervalMs);
  await sleep(Math.max(0, at - performance.now()));
  if (Number.isFinite(first)) firsts.push(first);
  first = Number.POSITIVE_INFINITY;
  const now = performance.now();
  for (const { socket, due } of clients) {
    due.push(now);
    socket.write(REQUEST);
  }
}
const deadline = performance.now() + 10_000;
while (clients.some(({ due }) => due.length > 0)) {
  if (performance.now() > deadline) throw new Error("Some requests got no response");
  await sleep(5);
}
firsts.push(first);
for (const { socket } of clients) socket.destroy();
latencies.sort((a, b) => a - b);
firsts.sort((a, b) => a - b);
const mean = latencies.reduce((sum, one) => sum + one, 0) / latencies.length;
const p99 = latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * 0.99))];
console.log(JSON.stringify({ first: firsts[firsts.length >> 1], mean, p99 }));
