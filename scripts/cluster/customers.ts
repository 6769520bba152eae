import { Agent, request } from "node:http";

/** What the load has counted since the last call. */
export interface CustomerCounts {
  readonly requests: number;
  /** What was not answered as it should have been, by what came instead. */
  readonly failed: Readonly<Record<string, number>>;
  readonly slowestMs: number;
  /** How many requests each version has answered, by the version's step. */
  readonly versions: Readonly<Record<string, number>>;
}

/** Simulated users who create, rename and read customers until they are stopped. */
export interface CustomerLoad {
  /** The counts since the last call. */
  take(): CustomerCounts;
  /** The same counts, without resetting them. */
  look(): CustomerCounts;
  stop(): Promise<void>;
}

/** How much of a wrong response is shown: enough to tell whether the application or the proxy sent it. */
const SHOWN_CHARACTERS = 120;

/** How long a person waits for a response. */
const PATIENCE_MS = 20_000;

/**
 * Lets users create a customer, read it, rename it and read it again, then start over with a new one. Each must read what
 * was written
 * last, by either version. Requests aren't repeated, and a response with any other name counts as failed.
 *
 * @param port the proxy's
 */
export function useCustomers(port: number, people: number): CustomerLoad {
  const agent = new Agent({ keepAlive: true });
  let counts = empty();
  let isOver = false;

  function send(method: string, path: string, body: string | null): Promise<{ status: number; text: string } | string> {
    const headers =
      body === null ? {} : { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
    return new Promise((resolve) => {
      const options = { host: "127.0.0.1", port, path, method, agent, timeout: PATIENCE_MS };
      const outgoing = request(
        { ...options, headers: { host: "shop.example", accept: "application/json", ...headers } },
        (response) => {
          let text = "";
          response.on("data", (chunk: Buffer) => (text += chunk.toString()));
          response.on("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
          response.on("end", () => resolve({ status: response.statusCode!, text }));
        },
      );
      outgoing.on("timeout", () => outgoing.destroy(new Error("timeout")));
      outgoing.on("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
      outgoing.end(body ?? "");
    });
  }

  /** Sends a request, and returns the customer's id if the response has the name. */
  async function asked(method: string, path: string, name: string): Promise<number | null> {
    const startedAt = performance.now();
    const answer = await send(method, path, method === "GET" ? null : JSON.stringify({ name }));
    counts.requests++;
    counts.slowestMs = Math.max(counts.slowestMs, performance.now() - startedAt);
    if (typeof answer !== "string" && answer.status === 200) {
      const found = JSON.parse(answer.text) as { id: number; name: string; version: string };
      counts.versions[found.version] = (counts.versions[found.version] ?? 0) + 1;
      if (found.name === name) return found.id;
      fail("another name");
    } else fail(typeof answer === "string" ? answer : `${answer.status} ${answer.text.slice(0, SHOWN_CHARACTERS)}`);
    return null;
  }

  function fail(what: string): void {
    counts.failed[what] = (counts.failed[what] ?? 0) + 1;
  }

  async function use(person: number): Promise<void> {
    for (let count = 0; !isOver; count++) {
      const name = `customer ${person} ${count}`;
      const id = await asked("POST", "/customers", name);
      if (id === null) continue;
      await asked("GET", `/customers/${id}`, name);
      await asked("PUT", `/customers/${id}`, `renamed ${name}`);
      await asked("GET", `/customers/${id}`, `renamed ${name}`);
    }
  }

  const all = Array.from({ length: people }, (_, person) => use(person));
  const copy = (): CustomerCounts => ({ ...counts, slowestMs: Math.round(counts.slowestMs) });
  return {
    look: copy,
    take() {
      const taken = copy();
      counts = empty();
      return taken;
    },
    async stop() {
      isOver = true;
      await Promise.all(all);
      agent.destroy();
    },
  };
}

function empty() {
  return { requests: 0, failed: {} as Record<string, number>, slowestMs: 0, versions: {} as Record<string, number> };
}
