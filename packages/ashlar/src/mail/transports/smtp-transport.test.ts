import { once } from "node:events";
import { readFileSync } from "node:fs";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import { expect, onTestFinished, test, vi } from "vitest";
import { makeCertificate } from "../../../test/support/certificate.ts";
import { mailMessage } from "../../../test/support/mail-message.ts";
import { temporaryFolder } from "../../../test/support/temporary-folder.ts";
import { deliveryFailure } from "./delivery-failure.ts";
import type { CompleteSmtpSettings } from "./smtp-settings.ts";
import { SmtpTransport } from "./smtp-transport.ts";

const MESSAGE = mailMessage();

interface Server {
  readonly transport: SmtpTransport;
  readonly deliver: () => Promise<readonly string[]>;
  /** The first word of each command on all connections, and `connected` for each connection. */
  readonly heard: string[];
}

/** A server with the minimum of SMTP for a mail, and the given response to one command. */
async function serve(
  instead: Readonly<Record<string, (socket: Socket) => void>>,
  settings: Partial<CompleteSmtpSettings> = {},
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
    ca: null,
    servername: null,
    user: null,
    password: null,
    poolSize: 1,
    timeouts: { connectSeconds: 60, idleSeconds: 60 },
    ...settings,
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

const reply = (response: string) => (socket: Socket) => void socket.write(`${response}\r\n`);

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
  // The idle timeout is ten minutes, so this test would time out first.
  const timeouts = { connectSeconds: 600, idleSeconds: 600 };
  const { transport, deliver } = await serve({ MAIL: () => resolve() }, { timeouts });
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

const ends = (socket: Socket): void => void socket.end();
const resets = (socket: Socket): void => void socket.resetAndDestroy();
/** Sends a line, and calls a function once the client has sent more. */
const afterwards = (response: string, next: (socket: Socket) => void) => (socket: Socket) => {
  socket.removeAllListeners("data").once("data", () => next(socket));
  if (response !== "") socket.write(`${response}\r\n`);
};
const AUTHENTICATED = { EHLO: reply("250-shop.example\r\n250 AUTH PLAIN") };
const LOGIN = { user: "shop", password: "hunter2" };

test.each<[string, Readonly<Record<string, (socket: Socket) => void>>, Partial<CompleteSmtpSettings>?]>([
  ["closes the connection instead of greeting", { connected: ends }],
  ["resets the connection instead of greeting", { connected: resets }],
  ["sends half a greeting", { connected: (socket) => socket.end("220 wel") }],
  ["greets and then closes the connection", { EHLO: ends }],
  ["greets and then resets the connection", { EHLO: resets }],
  [
    "closes the connection instead of the TLS handshake",
    { STARTTLS: afterwards("220 go on", ends) },
    { requireTls: true },
  ],
  ["resets the connection in the TLS handshake", { STARTTLS: afterwards("220 go on", resets) }, { requireTls: true }],
  ["closes the connection in a TLS handshake of its own port", { connected: afterwards("", ends) }, { secure: true }],
  ["resets the connection in a TLS handshake of its own port", { connected: afterwards("", resets) }, { secure: true }],
  ["speaks no TLS where it should", {}, { secure: true }],
  ["speaks another protocol", { connected: reply("HTTP/1.1 400 Bad Request") }],
  ["closes the connection during the login", { ...AUTHENTICATED, AUTH: ends }, LOGIN],
  ["resets the connection during the login", { ...AUTHENTICATED, AUTH: resets }, LOGIN],
])("a server that %s counts as unreachable", async (_, instead, settings) => {
  const { deliver } = await serve(instead, settings);
  const failure = deliveryFailure(await deliver().catch((error: unknown) => error), "delivering");
  expect(failure).toEqual({ reason: expect.any(String), isPermanent: false, isUnreachable: true });
});

test.each([
  ["of an unknown authority", null, null],
  ["of another host", "chain", "mail.example"],
])("a server with a certificate %s counts as unreachable", async (_, ca, servername) => {
  const { key, chain } = makeCertificate(await temporaryFolder(), "relay.example");
  const files = { key: readFileSync(key), cert: readFileSync(chain) };
  const server = createTlsServer(files, (socket) => socket.on("error", () => {}).write("220 welcome\r\n"));
  await once(server.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const { deliver } = await serve({}, { port, secure: true, ca: ca === null ? null : chain, servername });
  const failure = deliveryFailure(await deliver().catch((error: unknown) => error), "delivering");
  const reason = expect.stringMatching(ca === null ? /self-signed certificate/ : /altnames/);
  expect(failure).toEqual({ reason, isPermanent: false, isUnreachable: true });
});

test.each([
  ["closes the connection", ends],
  ["resets the connection", resets],
])("a server that %s during a mail is not unreachable, because the mail may be the cause", async (_, instead) => {
  for (const command of ["MAIL", "RCPT", "DATA", "."]) {
    const { deliver } = await serve({ [command]: instead });
    const failure = deliveryFailure(await deliver().catch((error: unknown) => error), "delivering");
    expect([command, failure.isUnreachable]).toEqual([command, undefined]);
  }
});

test("a server that ends the open connection and then sends no greeting is unreachable", async () => {
  let [connections, mails] = [0, 0];
  const { deliver } = await serve({
    connected: (socket) => (++connections === 1 ? socket.write("220 welcome\r\n") : socket.end()),
    MAIL: (socket) => (++mails > 1 ? socket.destroy() : socket.write("250 well\r\n")),
  });
  expect(await deliver()).toEqual([]);
  const failure = deliveryFailure(await deliver().catch((error: unknown) => error), "delivering");
  const reason = "The mail server closed the connection before its greeting.";
  expect([failure, connections]).toEqual([{ reason, isPermanent: false, isUnreachable: true }, 2]);
});

test("a mail whose connection the application itself closes says nothing about the server", async () => {
  const { promise: connected, resolve } = Promise.withResolvers<void>();
  const { transport, deliver } = await serve({ connected: () => resolve() });
  const delivered = deliver().catch((error: unknown) => error);
  await connected;
  transport.close();
  expect(deliveryFailure(await delivered, "delivering").isUnreachable).toBeUndefined();
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
])("a server that %s is abandoned after its timeout", async (_, command, timeouts) => {
  const { deliver } = await serve({ [command]: silent }, { timeouts });
  await expect(deliver()).rejects.toMatchObject({ code: "ETIMEDOUT" });
});

test.each([
  ["connected", "554 No SMTP service here", false],
  ["HELO", "502 5.5.1 not here", false],
  ["STARTTLS", "500 5.5.1 unknown command", false],
  ["MAIL", "552 5.3.4 insufficient system storage", false],
  ["MAIL", "550 5.1.8 sender rejected", true],
  ["RCPT", "550 5.1.1 no such user", true],
  ["DATA", "554 5.5.1 no", true],
  [".", "554 5.7.1 spam", true],
  [".", "451 4.3.0 later", false],
])("whether a server refuses the mail for good, with %s: %s (%s)", async (command, response, isPermanent) => {
  const instead = { [command]: reply(response), ...(command === "HELO" && { EHLO: reply(response) }) };
  const { deliver } = await serve(instead, { requireTls: command === "STARTTLS" });
  const failure = deliveryFailure(await deliver().catch((error: unknown) => error), "delivering");
  const isUnreachable = ["connected", "HELO", "STARTTLS"].includes(command) && { isUnreachable: true };
  expect(failure).toEqual({ reason: expect.stringContaining(response), isPermanent, ...isUnreachable });
});

test.each([
  ["during the mail's recipients", "RCPT", (socket: Socket) => socket.destroy(), undefined],
  ["before the mail", "DATA", (socket: Socket) => socket.destroy(), undefined],
  ["after the mail", ".", (socket: Socket) => socket.destroy(), true],
  ["instead of a response to the mail, which is refused", ".", reply("451 later"), undefined],
])(
  "a mail whose connection ends %s may have arrived only if it was transmitted",
  async (_, command, respond, expected) => {
    const { deliver, heard } = await serve({ [command]: respond });
    const failure = deliveryFailure(await deliver().catch((error: unknown) => error), "delivering");
    expect([failure.isPermanent, failure.mayHaveArrived]).toEqual([false, expected]);
    if (command === ".") expect(heard.filter((one) => one === ".")).toHaveLength(1);
  },
);

test("a mail whose acceptance takes too long may have arrived", async () => {
  const { deliver } = await serve({ ".": silent }, { timeouts: { connectSeconds: 60, idleSeconds: 0.05 } });
  await expect(deliver()).rejects.toMatchObject({ code: "ETIMEDOUT", mayHaveArrived: true });
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
