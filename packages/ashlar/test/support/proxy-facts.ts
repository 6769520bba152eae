import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { request } from "node:https";
import type { DeploymentFacts } from "../../src/scaffold/index.ts";
import { HOST } from "./deployed-proxies.ts";

/** Settings for proxy files, for an application with instances on a port and the next one. */
export function proxyFacts(
  port: number,
  more: Pick<DeploymentFacts, "away" | "tooLarge"> & Partial<DeploymentFacts>,
): DeploymentFacts {
  return {
    ...{ title: "Shop", domain: HOST, hosts: [], maxRequests: null, port, up: "/up", ready: "/ready" },
    ...{
      drainSeconds: 5,
      shutdownSeconds: 10,
      secretPaths: [],
      maxBodyBytes: 1024 ** 2,
      uploadBytes: 0,
      bodyPaths: [],
    },
    ...{ connection: null, dialect: null, redis: false },
    ...more,
  };
}

/**
 * Requests a path from a proxy, on a separate connection.
 *
 * @param length the length of a body that is announced but not sent
 */
export async function askProxy(port: number, path: string, length = 0): Promise<IncomingMessage> {
  const connection = { host: "127.0.0.1", port, servername: HOST, rejectUnauthorized: false, agent: false };
  const headers = { host: HOST, "content-length": String(length) };
  const sent = request({ ...connection, path, method: length === 0 ? "GET" : "POST", headers });
  sent.on("error", () => {});
  if (length === 0) sent.end();
  else sent.flushHeaders();
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  return response;
}
