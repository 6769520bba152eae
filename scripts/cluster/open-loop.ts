// Sends requests at a steady rate, whether or not responses arrive (an open loop), and prints how they were answered,
// and after how many milliseconds. overload.ts runs it in a separate process.
import { connect, type Socket } from "node:net";
import { performance } from "node:perf_hooks";
import { setTimeout as sleep } from "node:timers/promises";

/** A phase with a steady rate. */
export interface Phase {
  /** Requests per second; `null` to send the next request on each connection as soon as the previous one is answered. */
  readonly rate: number | null;
  readonly ms: number;
}

/** The request to send, and its target. */
export interface OpenLoop {
  readonly port: number;
  readonly path: string;
  /** How many connections may be open at once. A request that is due while all are in use waits for one. */
  readonly connections: number;
  /** Whether connections are reused. */
  readonly keeps: boolean;
  readonly phases: readonly Phase[];
}

/** How the requests due in a phase were answered. Times are in milliseconds after the request was sent. */
export interface PhaseResult {
  /** How many were sent. */
  readonly sent: number;
  /** How many were not sent, because no connection was free within two seconds or before the phase ended: there are too few. */
  readonly unsent: number;
  /** How long the others waited for a connection. */
  readonly waitedP99: number | null;
  readonly answered: number;
  /** Requests that were answered with 503. */
  readonly refused: number;
  /** Requests that got another status, or whose connection was closed without a response, by result. */
  readonly failed: Readonly<Record<string, number>>;
  /** Requests that had no response by the end. */
  readonly never: number;
  /** Requests that were answered, with any status, after more than two seconds. */
  readonly late: number;
  readonly p50: number | null;
  readonly p99: number | null;
  readonly max: number | null;
  readonly refusedP99: number | null;
  /** The time from the start of the phase to the last request that was refused, failed, or took more than 500 ms. */
  readonly recoveredMs: number;
}

const TICK_MS = 2;
const LATE_MS = 2000;
const SLOW_MS = 500;
/** How long to wait for missing responses at the end. */
const PATIENCE_MS = 10_000;

interface Due {
  readonly phase: Counts;
  readonly at: number;
  sentAt: number;
}

interface Counts {
  startedAt: number;
  sent: number;
  unsent: number;
  readonly waited: number[];
  readonly answered: number[];
  readonly refused: number[];
  readonly failed: Record<string, number>;
  open: number;
  late: number;
  troubledAt: number;
}

interface Client {
  readonly socket: Socket;
  due: Due | null;
  text: string;
  isConnected: boolean;
}

async function run({ port, path, connections, keeps, phases }: OpenLoop): Promise<PhaseResult[]> {
  const request = `GET ${path} HTTP/1.1\r\nHost: shop.example\r\n${keeps ? "" : "Connection: close\r\n"}\r\n`;
  const idle: Client[] = [];
  const clients = new Set<Client>();
  let waiting: Due[] = [];
  /** The next of these requests. */
  let first = 0;
  let isClosedLoop = false;

  function settle(due: Due, status: number | string): void {
    const { phase } = due;
    const now = performance.now();
    const tookMs = now - due.sentAt;
    phase.open--;
    if (status === 200) phase.answered.push(tookMs);
    else if (status === 503) phase.refused.push(tookMs);
    else phase.failed[status] = (phase.failed[status] ?? 0) + 1;
    if (tookMs > LATE_MS) phase.late++;
    if (status !== 200 || now - due.at > SLOW_MS) phase.troubledAt = Math.max(phase.troubledAt, due.at);
  }

  function open(): Client {
    const socket = connect({ port, host: "127.0.0.1", noDelay: true }).setEncoding("latin1");
    const client: Client = { socket, due: null, text: "", isConnected: false };
    clients.add(client);
    let problem = "closed";
    socket.on("error", (error: NodeJS.ErrnoException) => {
      problem = error.code ?? error.message;
    });
    socket.on("close", () => {
      clients.delete(client);
      const index = idle.indexOf(client);
      if (index !== -1) idle.splice(index, 1);
      if (client.due !== null) settle(client.due, problem);
      client.due = null;
      next();
    });
    socket.on("data", (piece: string) => read(client, piece));
    return client;
  }

  function read(client: Client, piece: string): void {
    client.text += piece;
    const end = endOfResponse(client.text);
    if (end === null || client.due === null) return;
    const head = client.text.slice(0, client.text.indexOf("\r\n\r\n"));
    settle(client.due, Number(head.slice(9, 12)));
    client.due = null;
    client.text = client.text.slice(end);
    const isClosed = !keeps || /^connection: close$/im.test(head);
    if (isClosed) client.socket.end();
    else idle.push(client);
    next();
  }

  function send(client: Client, due: Due): void {
    client.due = due;
    due.sentAt = performance.now();
    due.phase.waited.push(due.sentAt - due.at);
    due.phase.sent++;
    due.phase.open++;
    client.socket.write(request);
  }

  /** Sends a request on a free connection, or on a new one if the limit allows it. */
  function dispatch(due: Due): boolean {
    const client = idle.pop() ?? (clients.size < connections ? open() : null);
    if (client === null) return false;
    send(client, due);
    return true;
  }

  function next(): void {
    const now = performance.now();
    for (; first < waiting.length; first++) {
      const due = waiting[first]!;
      if (now - due.at > LATE_MS) due.phase.unsent++;
      else if (!dispatch(due)) break;
    }
    if (first * 2 > waiting.length) {
      waiting = waiting.slice(first);
      first = 0;
    }
    if (isClosedLoop) {
      while (dispatch({ phase: counts.at(-1)!, at: performance.now(), sentAt: 0 }));
    }
  }

  const counts: Counts[] = [];
  if (keeps) {
    // Opened before the first phase, a few at a time.
    while (clients.size < connections) {
      for (let index = 0; index < 100 && clients.size < connections; index++) idle.push(open());
      await sleep(10);
    }
    await sleep(200);
  }
  for (const { rate, ms } of phases) {
    const startedAt = performance.now();
    const phase: Counts = {
      startedAt,
      sent: 0,
      unsent: 0,
      waited: [],
      answered: [],
      refused: [],
      failed: {},
      open: 0,
      late: 0,
      troubledAt: startedAt,
    };
    counts.push(phase);
    isClosedLoop = rate === null;
    if (rate === null) {
      next();
      await sleep(ms);
      isClosedLoop = false;
      continue;
    }
    const total = Math.round((rate * ms) / 1000);
    for (let index = 0; index < total; ) {
      const now = performance.now();
      for (; index < total; index++) {
        const at = startedAt + (index / rate) * 1000;
        if (at > now) break;
        const due = { phase, at, sentAt: 0 };
        if (first < waiting.length || !dispatch(due)) waiting.push(due);
      }
      next();
      await sleep(TICK_MS);
    }
    // Otherwise, unsent requests would add to the next phase's load.
    for (const due of waiting.slice(first)) due.phase.unsent++;
    waiting = [];
    first = 0;
  }
  const deadline = performance.now() + PATIENCE_MS;
  while (counts.some(({ open }) => open > 0) && performance.now() < deadline) {
    await sleep(TICK_MS);
  }
  const results = counts.map(resultOf);
  for (const { socket } of clients) socket.destroy();
  return results;
}

/** The position where the first response in a text ends; `null` if the response is incomplete. */
function endOfResponse(text: string): number | null {
  const headEnd = text.indexOf("\r\n\r\n");
  if (headEnd === -1) return null;
  const head = text.slice(0, headEnd).toLowerCase();
  const length = /^content-length: (\d+)$/m.exec(head)?.[1];
  if (length !== undefined) {
    const end = headEnd + 4 + Number(length);
    return text.length >= end ? end : null;
  }
  const last = text.indexOf("0\r\n\r\n", headEnd + 4);
  return last === -1 ? null : last + 5;
}

function resultOf(phase: Counts): PhaseResult {
  const { answered, refused, sent, unsent, waited, failed, open, late, startedAt, troubledAt } = phase;
  const round = (value: number | null): number | null => (value === null ? null : Math.round(value));
  return {
    sent,
    unsent,
    waitedP99: round(percentile(waited, 0.99)),
    answered: answered.length,
    refused: refused.length,
    failed,
    never: open,
    late,
    p50: round(percentile(answered, 0.5)),
    p99: round(percentile(answered, 0.99)),
    max: round(percentile(answered, 1)),
    refusedP99: round(percentile(refused, 0.99)),
    recoveredMs: Math.round(troubledAt - startedAt),
  };
}

function percentile(times: readonly number[], share: number): number | null {
  const sorted = times.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? null;
}

console.log(JSON.stringify(await run(JSON.parse(process.argv[2]!) as OpenLoop)));
