import type { TestResponse } from "../../src/testing/index.ts";
import type { DoorShop } from "./door-shop.ts";
import type { RemoteBrowser } from "./remote-browser.ts";

/** Refused requests say that they need a user. */
const REFUSED = 401;
const JSON_FIRST = { headers: { accept: "application/json" } };

/**
 * Tries what only users may open, with a browser's cookies and with each text that it has received and that could be a token.
 *
 * @returns `in`: the cookies open a page; `fresh`: also one that wants a confirmation; `token`: a text opens a route; `out`: nothing
 * opens anything
 */
export async function accessOf(shop: DoorShop, browser: RemoteBrowser, response: TestResponse): Promise<string> {
  const paths = protectedPaths(shop);
  const found: string[] = [];
  if (await opensAny(browser, paths)) {
    const isFresh = !browser.hasToken && (await browser.get("/fresh", JSON_FIRST)).status === 200;
    found.push(browser.hasToken ? "token" : isFresh ? "fresh" : "in");
  }
  const app = shop.visitor("127.0.0.1");
  app.process = browser.process;
  for (const text of textsIn(response)) {
    if (!(await opensAny(app.withToken(text), paths))) continue;
    found.push("token");
    break;
  }
  app.close();
  return found.length === 0 ? "out" : [...new Set(found)].join(" + ");
}

async function opensAny(browser: RemoteBrowser, paths: readonly string[]): Promise<boolean> {
  for (const path of paths) if ((await browser.get(path, JSON_FIRST)).status !== REFUSED) return true;
  return false;
}

/** The pages and routes without parameters that are behind `auth`. */
function protectedPaths({ application }: DoorShop): readonly string[] {
  return application.router.routes
    .filter(({ methods, middleware, pattern }) => {
      const isGuarded = middleware.some((one) => /^auth(:|$)/.test(one));
      return isGuarded && methods.includes("GET") && !pattern.includes("@");
    })
    .map(({ pattern }) => pattern);
}

/** The texts of a response that could be tokens: in JSON, and those that a page shows. */
function textsIn(response: TestResponse): readonly string[] {
  const isJson = /json/.test(response.headers.get("content-type") ?? "");
  const text = isJson ? JSON.stringify(response.json) : response.pageText;
  return [...new Set(text.match(/[\w.~+/=|-]{20,}/g) ?? [])].slice(0, 6);
}

interface Body {
  readonly data?: unknown;
  readonly code?: string;
  readonly step?: string;
  readonly flows?: readonly { readonly id: string }[];
}

/** A response in a few words: where it leads, or its status, code, step and ways to continue. */
export function described(response: TestResponse): string {
  const { redirectsTo, status } = response;
  if (redirectsTo !== null)
    return `→ ${redirectsTo.replace(/\?.*/, "").replace(/(verify|undo|passkey|link|mail)\/(?!notice)[\w.-]{20,}/, "$1/@token")}`;
  if (!/json/.test(response.headers.get("content-type") ?? "")) return String(status);
  const { data, ...problem } = response.json as Body;
  const own = typeof data === "object" && data !== null ? (data as Body & { readonly status?: string }) : {};
  const { code = own.status, step = own.step, flows = own.flows ?? [] } = problem as Body;
  const said = code === undefined ? "" : ` ${code}`;
  const waits = step === undefined ? "" : `, step ${step}`;
  return `${status}${said}${waits}${flows.length === 0 ? "" : `: ${flows.map(({ id }) => id).join(", ")}`}`;
}
