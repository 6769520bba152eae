import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import { connect, type Socket } from "node:net";
import { networkInterfaces } from "node:os";
import { describe, expect, onTestFinished, test } from "vitest";
import { listen } from "./listen.ts";

const hasIPv6 = Object.values(networkInterfaces()).some((one) => one?.some(({ address }) => address === "::1"));

/** A server on loopback; gone when the test is finished. */
async function listening(answer: RequestListener, maxConnections?: number): Promise<{ server: Server; port: number }> {
  const server = createServer(answer);
  if (maxConnections !== undefined) server.maxConnections = maxConnections;
  const { port, listening: servers } = await listen(server, { port: 0, hostname: null, isLocal: true });
  onTestFinished(() => {
    server.closeAllConnections();
    for (const one of servers) one.close();
  });
  return { server, port };
}

function open(port: number, host: string): Socket {
  const socket = connect({ port, host });
  socket.on("error", () => {});
  onTestFinished(() => void socket.destroy());
  return socket;
}

describe.each(["127.0.0.1", "::1"].filter((host) => host !== "::1" || hasIPv6))("at %s", (host) => {
  test("no more connections are kept than maxConnections", async () => {
    const { port } = await listening((_request, response) => void response.end("hello"), 1);
    const first = open(port, host);
    first.write("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
    await once(first, "data");
    const second = open(port, host);
    second.write("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
    let answered = "";
    second.on("data", (piece) => (answered += piece));
    await once(second, "close");
    expect(answered).toBe("");
    first.write("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
    expect(String((await once(first, "data"))[0])).toContain("200 OK");
  });
});
