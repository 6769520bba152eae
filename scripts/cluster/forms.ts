import { Agent, request } from "node:http";

/** A load's counts. */
export interface Counts {
  /** The requests that were sent, and how many of them sent a form. */
  readonly requests: number;
  readonly forms: number;
  /** What was not answered as it should have been, by what came instead: a status, or the code of an error. */
  readonly failed: Readonly<Record<string, number>>;
  /** The longest time until a response, in milliseconds. */
  readonly slowestMs: number;
}

/** Simulated visitors who send forms until they are stopped. */
export interface Load {
  readonly counts: () => Counts;
  stop(): Promise<Counts>;
}

interface Answer {
  readonly status: number;
  readonly text: string;
  readonly cookies: readonly string[];
}

/** How long a visitor waits for a response. */
const PATIENCE_MS = 20_000;

/**
 * Lets visitors load a form and send it, again and again. Each has a separate session, and doesn't retry: a failed request
 * counts as failed.
 *
 * @param port the proxy's
 * @param pauseMs how long each waits between two requests
 */
export function visitForms(port: number, visitors: number, pauseMs: number): Load {
  const agent = new Agent({ keepAlive: true });
  const failed: Record<string, number> = {};
  let [requests, forms, slowestMs, isOver] = [0, 0, 0, false];

  function send(
    method: "GET" | "POST",
    headers: Readonly<Record<string, string>>,
    body = "",
  ): Promise<Answer | string> {
    requests++;
    const startedAt = performance.now();
    return new Promise((resolve) => {
      const options = { host: "127.0.0.1", port, path: "/form", method, agent, timeout: PATIENCE_MS };
      const outgoing = request({ ...options, headers: { host: "shop.example", ...headers } }, (response) => {
        let text = "";
        response.on("data", (chunk: Buffer) => (text += chunk.toString()));
        response.on("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
        response.on("end", () => {
          slowestMs = Math.max(slowestMs, performance.now() - startedAt);
          resolve({ status: response.statusCode!, text, cookies: response.headers["set-cookie"] ?? [] });
        });
      });
      outgoing.on("timeout", () => outgoing.destroy(new Error("timeout")));
      outgoing.on("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
      outgoing.end(body);
    });
  }

  function judge(answer: Answer | string, isRight: (text: string) => boolean): answer is Answer {
    const what = typeof answer === "string" ? answer : String(answer.status);
    if (typeof answer !== "string" && answer.status === 200 && isRight(answer.text)) return true;
    failed[what] = (failed[what] ?? 0) + 1;
    return false;
  }

  async function visit(name: string): Promise<void> {
    let cookie = "";
    for (let count = 0; !isOver; count++) {
      const page = await send("GET", { cookie });
      if (judge(page, (text) => text.length > 20)) {
        cookie = page.cookies[0]?.split(";")[0] ?? cookie;
        const word = `${name}-${count}`;
        const body = new URLSearchParams({ __token: page.text, word }).toString();
        const length = String(Buffer.byteLength(body));
        const type = "application/x-www-form-urlencoded";
        forms++;
        const sent = await send("POST", { cookie, "content-type": type, "content-length": length }, body);
        if (judge(sent, (text) => text === word)) cookie = sent.cookies[0]?.split(";")[0] ?? cookie;
      }
      if (pauseMs > 0) await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  }

  const counts = (): Counts => ({ requests, forms, failed: { ...failed }, slowestMs: Math.round(slowestMs) });
  const visits = Array.from({ length: visitors }, (_, index) => visit(`visitor-${index}`));
  return {
    counts,
    async stop() {
      isOver = true;
      await Promise.all(visits);
      agent.destroy();
      return counts();
    },
  };
}
