// Logs in like a browser, to get the cookies that it sends with every later request.
import { PASSWORD } from "./fixtures.ts";
import { type Contestant, startServer } from "./processes.ts";

/** A browser's cookies, in the order in which their names first arrived, which is the order they are sent in. */
class CookieJar {
  readonly #values = new Map<string, string>();

  /** Stores a response's cookies. */
  store(response: Response): void {
    for (const line of response.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line)!;
      this.#values.set(name!, value!);
    }
  }

  get header(): string {
    return [...this.#values].map(([name, value]) => `${name}=${value}`).join("; ");
  }
}

/**
 * Logs benchmark users in through the form of a server with pages, which is started for this.
 *
 * @param count how many users
 * @returns the `Cookie` header that each user's browser sends afterwards
 */
export async function logInAsBrowsers(contestant: Contestant, count: number): Promise<string[]> {
  const server = await startServer(contestant);
  try {
    const headers: string[] = [];
    for (let user = 0; user < count; user++) headers.push(await logIn(contestant.port, `user${user}@example.com`));
    return headers;
  } finally {
    server.kill("SIGKILL");
  }
}

async function logIn(port: number, email: string): Promise<string> {
  const jar = new CookieJar();
  const url = `http://127.0.0.1:${port}/enter`;
  const form = await fetch(url);
  jar.store(form);
  const token = /name="__token" value="([^"]+)"/.exec(await form.text())?.[1];
  if (token === undefined) throw new Error(`The form on port ${port} has no token`);
  const body = new URLSearchParams({ __token: token, email, password: PASSWORD });
  const sent = await fetch(url, { method: "POST", body, headers: { cookie: jar.header }, redirect: "manual" });
  jar.store(sent);
  const { header } = jar;
  if (sent.status !== 302 || header.split("; ").length !== 3) {
    throw new Error(`A login on port ${port} returned ${sent.status} and these cookies: ${header}`);
  }
  return header;
}
