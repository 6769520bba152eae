import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { isAmbiguousTarget } from "../http/index.ts";
import type { Logger } from "../kernel/index.ts";
import { ConfigurationError } from "../support/index.ts";

/** A separate port for metrics. */
export interface MetricsServer {
  readonly port: number;
  close(): Promise<void>;
}

const TIMEOUTS = { headersTimeout: 5000, requestTimeout: 10_000, keepAliveTimeout: 65_000, maxHeaderSize: 8192 };

/**
 * Listens for scrapers.
 *
 * @throws `E_INVALID_CONFIGURATION` if it cannot listen there
 */
export async function startMetricsServer(
  address: { readonly port: number; readonly hostname: string },
  respond: (request: Request) => Promise<Response>,
  logger: Logger,
): Promise<MetricsServer> {
  const server = createServer(TIMEOUTS, (message, response) => {
    answer(message, response, respond).catch((error: unknown) => {
      logger.error({ err: error }, "The metrics could not be read.");
      if (response.headersSent) response.destroy();
      else response.writeHead(500).end();
    });
  });
  server.listen(address.port, address.hostname);
  try {
    await once(server, "listening");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const place = `${address.hostname}:${address.port}`;
    const problem =
      code === "EADDRINUSE" ? `another program is using ${place}.` : `cannot be used: ${place} reports ${code}.`;
    const remedy = "Choose another port, one for each instance on this machine, or set path and token.";
    throw new ConfigurationError("config/metrics.ts: METRICS.port", problem, remedy);
  }
  // This server doesn't keep the process alive; the application does.
  server.unref();
  return { port: (server.address() as AddressInfo).port, close: () => close(server) };
}

async function answer(
  message: IncomingMessage,
  response: ServerResponse,
  respond: (request: Request) => Promise<Response>,
): Promise<void> {
  const { authorization } = message.headers;
  const target = message.url ?? "";
  const url = isAmbiguousTarget(target) ? null : URL.parse(target, "http://localhost");
  if (url === null || message.method === "TRACE" || message.method === "CONNECT") {
    response.writeHead(400).end();
    return;
  }
  const headers = authorization === undefined ? {} : { authorization };
  const { status, headers: sent, body } = await respond(new Request(url, { method: message.method ?? "GET", headers }));
  const bytes = body === null ? null : Buffer.from(await new Response(body).arrayBuffer());
  response.writeHead(status, Object.fromEntries(sent)).end(bytes);
}

async function close(server: Server): Promise<void> {
  const closed = new Promise((resolve) => server.close(resolve));
  server.closeAllConnections();
  await closed;
}
