import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, onTestFinished, test, vi } from "vitest";
import { type RawSocket, rawSocket } from "../../../test/support/raw-socket.ts";
import { createLogger } from "../../boot/index.ts";
import { Admission, type WorkerLine } from "./admission.ts";
import { CLOCK_OFFSET_MS } from "./messages.ts";

const MAX_MS = 1000;
/** More waiting connections than the number that never counts as an overload. */
const MANY = 16;
const GET = "GET /orders HTTP/1.1\r\nHost: a\r\n\r\n";
const HEALTH = "GET /up HTTP/1.1\r\nHost: a\r\n\r\n";

/** Creates both ends of a connection. */
interface Connected {
  readonly client: RawSocket;
  readonly socket: Socket;
}

/** Accepts connections for one worker, with a clock that only the test advances. */
async function admitting(maxMs = MAX_MS) {
  let time = Math.ceil(performance.now());
  const startedAt = time;
  const clock = vi.spyOn(performance, "now").mockImplementation(() => time);
  onTestFinished(() => clock.mockRestore());
  const lines: object[] = [];
  const settings = { name: "Shop", environment: "test", log: { level: "debug" } } as const;
  const logger = createLogger(settings, {
    write(line) {
      const { time: _, app, level, ...rest } = JSON.parse(line) as Record<string, unknown>;
      lines.push(rest);
    },
  });
  const facts = {
    maxMs,
    neverRefused: ["/up"],
    origins: { others: {}, trusted: {} },
    pages: null,
    headersTimeoutMs: 15_000,
    maxHeaderBytes: 16_384,
  };
  const handedOver: Socket[] = [];
  const admission = new Admission(facts, logger, (socket) => void handedOver.push(socket));
  onTestFinished(() => admission.stop());
  const server = createServer({ pauseOnConnect: true, noDelay: true, allowHalfOpen: true }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const connect = async (text = GET): Promise<Connected> => {
    const accepted = once(server, "connection") as Promise<[Socket]>;
    const client = rawSocket(port, text);
    const [socket] = await accepted;
    onTestFinished(() => void client.socket.destroy());
    onTestFinished(() => void socket.destroy());
    admission.accepted(socket);
    return { client, socket };
  };
  const line = admission.line();
  /** Makes connections that leave the queue wait too long, for longer than a burst may last. */
  const overload = async (): Promise<WorkerLine> => {
    const first = await connect();
    time += MAX_MS / 5;
    admission.messageFor(first.socket, line, MANY);
    time += MAX_MS / 2 + 1;
    return line;
  };
  return {
    admission,
    line,
    lines,
    handedOver,
    startedAt,
    connect,
    overload,
    pass(ms: number): void {
      time += ms;
    },
  };
}

async function turns(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await nextTurn();
}

const isRefused = /^HTTP\/1\.1 503 [\s\S]*try again in a moment\.$/;

test("S150 a worker learns when each connection was accepted, by the system's clock", async () => {
  const { admission, line, startedAt, connect, pass } = await admitting();
  const { socket } = await connect();
  pass(70);
  expect(admission.messageFor(socket, line, 0)).toEqual({
    type: "connection",
    acceptedAt: startedAt + CLOCK_OFFSET_MS,
  });
});

test("S150 a connection that has waited too long gets a response here, and no worker gets it", async () => {
  const { admission, line, lines, handedOver, connect, overload, pass } = await admitting();
  await overload();
  const { client, socket } = await connect();
  pass(MAX_MS / 5);
  expect(admission.messageFor(socket, line, MANY)).toBeNull();
  expect(await client.closed).toMatch(isRefused);
  expect([line.refused, handedOver]).toEqual([1, []]);
  admission.stop();
  expect(lines).toEqual([expect.objectContaining({ refused: 1, waitedMs: MAX_MS / 5 })]);
});

test("S150 a connection that has not waited for long, or behind which few wait, is handed over during an overload", async () => {
  const { admission, line, connect, overload, pass } = await admitting();
  await overload();
  const [young, old] = [await connect(), await connect()];
  pass(MAX_MS / 10);
  expect(admission.messageFor(young.socket, line, MANY)).toMatchObject({ type: "connection" });
  pass(MAX_MS / 10);
  expect(admission.messageFor(old.socket, line, MANY - 1)).toMatchObject({ type: "connection" });
  expect(line.refused).toBe(0);
});

test("a limit of 0 refuses no connection, however long it waits", async () => {
  const { admission, line, connect, pass } = await admitting(0);
  const { socket } = await connect();
  for (let count = 0; count < 3; count++) {
    pass(MAX_MS * 10);
    expect(admission.refuseLate(socket, line)).toBe(false);
    expect(admission.messageFor(socket, line, MANY)).toMatchObject({ type: "connection" });
  }
});

test("S150 a connection that waits for a worker that takes none is refused once the limit has passed, and not before", async () => {
  const { admission, line, lines, connect, pass } = await admitting();
  const { client, socket } = await connect();
  pass(MAX_MS);
  expect(admission.refuseLate(socket, line)).toBe(false);
  pass(1);
  expect(admission.refuseLate(socket, line)).toBe(true);
  expect(await client.closed).toMatch(isRefused);
  admission.stop();
  expect([line.refused, lines]).toEqual([1, [expect.objectContaining({ refused: 1, waitedMs: MAX_MS + 1 })]]);
});

test("S50 a health check that has waited too long is handed over with the bytes already read, and is never refused again", async () => {
  const { admission, line, handedOver, startedAt, connect, overload, pass } = await admitting();
  await overload();
  const { socket } = await connect(HEALTH);
  pass(MAX_MS * 2);
  expect(admission.refuseLate(socket, line)).toBe(true);
  await expect.poll(() => handedOver).toEqual([socket]);
  const acceptedAt = startedAt + MAX_MS / 5 + MAX_MS / 2 + 1 + MAX_MS * 2 + CLOCK_OFFSET_MS;
  pass(MAX_MS * 2);
  // The connection's wait begins again, so that the worker doesn't refuse it for the time it spent here.
  expect(admission.refuseLate(socket, line)).toBe(false);
  expect(admission.messageFor(socket, line, MANY)).toEqual({ type: "connection", acceptedAt, head: HEALTH });
  expect(line.refused).toBe(0);
});

test("S150 a connection on which nothing was sent is refused only while requests still are", async () => {
  const { admission, line, handedOver, connect, pass } = await admitting();
  const { client, socket } = await connect("");
  pass(MAX_MS + 1);
  expect(admission.refuseLate(socket, line)).toBe(true);
  await turns();
  client.socket.write(GET);
  await expect.poll(() => handedOver).toEqual([socket]);
  expect(admission.messageFor(socket, line, 0)).toMatchObject({ head: GET });
  expect(line.refused).toBe(0);
});

test("S150 a connection on which a request comes while the overload lasts is refused", async () => {
  const { admission, line, handedOver, connect, overload, pass } = await admitting();
  const { client, socket } = await connect("");
  await overload();
  pass(MAX_MS);
  expect(admission.messageFor(socket, line, MANY)).toBeNull();
  await turns();
  client.socket.write(GET);
  expect(await client.closed).toMatch(isRefused);
  expect([line.refused, handedOver]).toEqual([1, []]);
});

test("S150 a client's earlier request is refused, even if the queue is short again by then", async () => {
  const { admission, line, handedOver, connect, pass } = await admitting();
  const { client, socket } = await connect();
  pass(MAX_MS + 1);
  // The system has received the bytes.
  await turns();
  expect(admission.refuseLate(socket, line)).toBe(true);
  line.delay!.emptied();
  expect(await client.closed).toMatch(isRefused);
  expect([line.refused, handedOver]).toEqual([1, []]);
});
