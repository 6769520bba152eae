import { readFile } from "node:fs/promises";
import { createServer, request, type Server } from "node:http";
import { createServer as createSecureServer } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { CertificateFiles } from "./certificate.ts";

/** A page with the built client as `client`, a function that returns a call's outcome, and a store. */
const PAGE = `<!doctype html>
<title>Front end</title>
<script type="module">
  import * as client from "/client.js";
  globalThis.client = client;
  globalThis.result = async (call) => {
    try {
      return { value: await call };
    } catch (error) {
      const { name, code, status, fields, retryAfter } = error;
      return { name, code, status, fields, retryAfter };
    }
  };
  // All tabs see the same values in it at once, unlike in localStorage, where another tab's write may become visible
  // late.
  const database = new Promise((resolve, reject) => {
    const opening = indexedDB.open("tokens");
    opening.onupgradeneeded = () => opening.result.createObjectStore("texts");
    opening.onsuccess = () => resolve(opening.result);
    opening.onerror = () => reject(opening.error);
  });
  const inStore = async (mode, ask) => {
    const transaction = (await database).transaction("texts", mode);
    const request = ask(transaction.objectStore("texts"));
    await new Promise((resolve, reject) => {
      transaction.oncomplete = resolve;
      transaction.onerror = reject;
    });
    return request.result ?? null;
  };
  globalThis.store = {
    get: () => inStore("readonly", (texts) => texts.get("tokens")),
    set: (text) => inStore("readwrite", (texts) => texts.put(text, "tokens")),
    remove: () => inStore("readwrite", (texts) => texts.delete("tokens")),
  };
  globalThis.isReady = true;
</script>`;

/** A server on this machine. */
export interface LocalServer {
  readonly port: number;
  close(): void;
}

async function listening(server: Server): Promise<LocalServer> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

async function secured(files: CertificateFiles): Promise<{ key: string; cert: string }> {
  return { key: await readFile(files.key, "utf8"), cert: await readFile(files.chain, "utf8") };
}

/** Serves an otherwise empty page with the built client, on a separate origin. */
export async function serveClientPage(certificate?: CertificateFiles): Promise<LocalServer> {
  const built = await readFile(join(import.meta.dirname, "../../dist/client.js"), "utf8");
  const respond: Parameters<typeof createServer>[1] = ({ url }, response) => {
    const isClient = url === "/client.js";
    response.setHeader("content-type", isClient ? "text/javascript" : "text/html");
    response.end(isClient ? built : PAGE);
  };
  return await listening(
    certificate === undefined ? createServer(respond) : createSecureServer(await secured(certificate), respond),
  );
}

/** Serves an application over https, like a proxy in front of it. */
export async function serveSecurely(port: () => number, certificate: CertificateFiles): Promise<LocalServer> {
  const server = createSecureServer(await secured(certificate), (incoming, outgoing) => {
    const headers = { ...incoming.headers, "x-forwarded-proto": "https", "x-forwarded-for": "127.0.0.1" };
    const { method, url: path } = incoming;
    const upstream = request({ port: port(), host: "127.0.0.1", method, path, headers }, (response) => {
      outgoing.writeHead(response.statusCode!, response.headers);
      response.pipe(outgoing);
    });
    upstream.on("error", () => outgoing.destroy());
    incoming.pipe(upstream);
  });
  return await listening(server);
}
