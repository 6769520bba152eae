// Sends requests at a steady rate, whether or not responses arrive (an open loop), and prints how each was answered and
// after how many milliseconds from the time when it was due. overload.ts runs it on a separate processor.
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { performance } from "node:perf_hooks";
import { setTimeout as sleep } from "node:timers/promises";

/** How many connections the requests take turns on. */
const CONNECTIONS = 200;
const TICK_MS = 5;
/** How long it waits for the responses that are missing at the end. */
const PATIENCE_MS = 15_000;
/** The start of a response. A piece of it may be at the end of what has been received. */
const STATUS = /HTTP\/1\.1 (\d{3})/g;
const STATUS_LENGTH = "HTTP/1.1 200".length;

const [port, path, rate, durationMs] = process.argv.slice(2) as [string, string, string, string];
const REQUEST = `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`;

interface Client {
  readonly socket: Socket;
  /** When the requests without a response were due. */
  readonly due: number[];
}

const answered: number[] = [];
const refused: number[] = [];

async function open(): Promise<Client> {
  const socket = connect(Number(port), "127.0.0.1").setNoDelay(true).setEncoding("latin1");
  await once(socket, "connect");
  const due: number[] = [];
  let rest = "";
  socket.on("data", (piece: string) => {
    const text = rest + piece;
    let end = 0;
    for (const match of text.matchAll(STATUS)) {
      (match[1] === "200" ? answered : refused).push(performance.now() - due.shift()!);
      end = match.index + match[0].length;
    }
    rest = text.slice(Math.max(end, text.length - STATUS_LENGTH + 1));
  });
  return { socket, due };
}

const clients = await Promise.all(Array.from({ length: CONNECTIONS }, open));
const start = performance.now() + 20;
const total = Math.round((Number(rate) * Number(durationMs)) / 1000);
const dueAt = (index: number): number => start + (index / Number(rate)) * 1000;
for (let sent = 0; sent < total; ) {
  for (; sent < total && dueAt(sent) <= performance.now(); sent++) {
    const { socket, due } = clients[sent % CONNECTIONS]!;
    due.push(dueAt(sent));
    socket.write(REQUEST);
  }
  await sleep(TICK_MS);
}
const deadline = performance.now() + PATIENCE_MS;
while (clients.some(({ due }) => due.length > 0) && performance.now() < deadline) await sleep(TICK_MS);
for (const { socket } of clients) socket.destroy();

function percentile(times: readonly number[], share: number): number | null {
  const sorted = times.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? null;
}

const all = [...answered, ...refused];
console.log(
  JSON.stringify({
    sent: total,
    answered: answered.length,
    refused: refused.length,
    late: total - all.filter((took) => took <= 10_000).length,
    p50: percentile(answered, 0.5),
    p99: percentile(answered, 0.99),
    refusedP99: percentile(refused, 0.99),
  }),
);
