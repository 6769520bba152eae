import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { expect, onTestFinished, test, vi } from "vitest";
import { mailMessage } from "../../test/support/mail-message.ts";
import type { CompleteSmtpSettings } from "./settings.ts";
import { SmtpTransport } from "./smtp-transport.ts";

const MESSAGE = mailMessage();

interface Server {
  readonly transport: SmtpTransport;
  readonly deliver: () => Promise<readonly string[]>;
  /** The first word of each command, over all connections, and `connected` for each connection. */
  readonly heard: string[];
}

/** A server with the minimum of SMTP that a mail needs, and a given response to one command. */
async function serve(
  instead: Readonly<Record<string, (socket: Socket) => void>>,
  timeouts: CompleteSmtpSettings["timeouts"] = { connectSeconds: 60, idleSeconds: 60 },
): Promise<Server> {
  const heard: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    const say = (command: string, answer: string): void => {
      heard.push(command);
      if (Object.hasOwn(instead, command)) instead[command]!(socket);
      else socket.write(`${answer}\r\n`);
    };
    let isContent = false;
    socket.on("data", (data) => {
      for (const line of String(data).split("\r\n").slice(0, -1)) {
        const [command = ""] = line.split(/[ :]/);
        if (isContent && line !== ".") continue;
        isContent = command === "DATA";
        say(command, isContent ? "354 go on" : "250 well");
      }
    });
    say("connected", "220 welcome");
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const transport = new SmtpTransport({
    host: "127.0.0.1",
    port,
    secure: false,
    requireTls: false,
    user: null,
    password: null,
    poolSize: 1,
    timeouts,
  });
  onTestFinished(() => {
    transport.close();
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const deliver = () => transport.deliver(MESSAGE, { signal: new AbortController().signal });
  return { transport, deliver, heard };
}

const silent = (): void => {};

test("mails share a connection, and use a new one after it was closed", async () => {
  const { transport, deliver, heard } = await serve({});
  expect([await deliver(), await deliver()]).toEqual([[], []]);
  expect(heard.filter((one) => one === "connected")).toHaveLength(1);
  transport.close();
  expect(await deliver()).toEqual([]);
  expect(heard.filter((one) => one === "connected")).toHaveLength(2);
});

test("a mail that waits for the server fails when its connection is closed", async () => {
  const { promise: asked, resolve } = Promise.withResolvers<void>();
  // The idle timeout would only end it after ten minutes, when this test has timed out.
  const timeouts = { connectSeconds: 600, idleSeconds: 600 };
  const { transport, deliver } = await serve({ MAIL: () => resolve() }, timeouts);
  const delivered = deliver().catch((error: unknown) => error);
  await asked;
  transport.close();
  expect(await delivered).toBeInstanceOf(Error);
});

test("a connection that the server closes instead of greeting is retried once", async () => {
  const { deliver, heard } = await serve({ connected: (socket) => socket.end() });
  await expect(deliver()).rejects.toThrow();
  expect(heard).toEqual(["connected", "connected"]);
});

test("a mail uses another connection when the server has closed the open one", async () => {
  let mails = 0;
  const { deliver, heard } = await serve({
    MAIL: (socket) => {
      mails++;
      if (mails === 2) socket.destroy();
      else socket.write("250 well\r\n");
    },
  });
  expect([await deliver(), await deliver()]).toEqual([[], []]);
  expect(heard.filter((one) => one === "connected")).toHaveLength(2);
});

test.each([
  ["does not greet", "connected", { connectSeconds: 0.05, idleSeconds: 60 }],
  ["stops responding during a mail", ".", { connectSeconds: 60, idleSeconds: 0.05 }],
])("a server that %s is given up after its timeout", async (_, command, timeouts) => {
  const { deliver } = await serve({ [command]: silent }, timeouts);
  await expect(deliver()).rejects.toMatchObject({ code: "ETIMEDOUT" });
});

test("a slow greeting is waited for as long as the settings say", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"] });
  onTestFinished(() => void vi.useRealTimers());
  const { promise: connected, resolve } = Promise.withResolvers<Socket>();
  const { deliver } = await serve({ connected: resolve });
  const delivered = deliver();
  const socket = await connected;
  for (let second = 0; second < 50; second++) await vi.advanceTimersByTimeAsync(1000);
  socket.write("220 welcome\r\n");
  expect(await delivered).toEqual([]);
});
