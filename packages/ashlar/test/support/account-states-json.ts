import type { TestClient, TestResponse } from "../../src/testing/index.ts";
import { type AccountState, type Arrival, STATE_PASSWORD, type StateGuard, type StateShop } from "./account-states.ts";
import type { StateAnswer } from "./account-states-table.ts";

const NEW_PASSWORD = "another password altogether";

interface Request {
  readonly method: "GET" | "POST" | "DELETE";
  readonly path: string;
  readonly fields?: (arrival: Arrival) => object;
  /** Whether it is sent without the account's login. */
  readonly isGuests?: true;
  /** Whether only the default guard has it. */
  readonly isSingle?: true;
}

const chosen = { password: NEW_PASSWORD, password_confirmation: NEW_PASSWORD };

const REQUESTS: readonly Request[] = [
  { method: "GET", path: "/home" },
  { method: "GET", path: "/logins" },
  { method: "GET", path: "/account/security" },
  { method: "GET", path: "/verified" },
  { method: "GET", path: "/confirmed" },
  { method: "POST", path: "/email/resend" },
  { method: "POST", path: "/confirm_password", fields: () => ({ password: STATE_PASSWORD }) },
  { method: "POST", path: "/confirm_password", fields: () => ({ password: "a wrong one" }) },
  { method: "POST", path: "/account/password", fields: () => ({ current_password: STATE_PASSWORD, ...chosen }) },
  { method: "POST", path: "/account/close" },
  {
    method: "POST",
    path: "/account/email",
    fields: ({ email }) => ({ email: `new-${email}`, password: STATE_PASSWORD }),
  },
  { method: "DELETE", path: "/logins" },
  { method: "DELETE", path: "/logins/0" },
  { method: "POST", path: "/logout" },
  { method: "GET", path: "/password_reset?token=x" },
  { method: "POST", path: "/password_reset", fields: () => ({ token: "x", ...chosen }) },
  { method: "GET", path: "/email/verify/x" },
  { method: "POST", path: "/email/verify/x" },
  { method: "GET", path: "/email/undo/x" },
  { method: "POST", path: "/email/undo/x" },
  { method: "POST", path: "/login", fields: ({ email }) => ({ email, password: STATE_PASSWORD }), isGuests: true },
  { method: "POST", path: "/login", fields: ({ email }) => ({ email, password: "a wrong one" }), isGuests: true },
  { method: "POST", path: "/register", fields: ({ email }) => ({ name: "Ada", email, ...chosen }), isGuests: true },
  { method: "POST", path: "/change_password", fields: ({ email }) => ({ email }), isGuests: true },
  {
    method: "POST",
    path: "/api/auth",
    fields: ({ email }) => ({ username: email, password: STATE_PASSWORD }),
    isGuests: true,
    isSingle: true,
  },
  {
    method: "POST",
    path: "/api/reauth",
    fields: ({ apiToken }) => ({ token: apiToken ?? "x" }),
    isGuests: true,
    isSingle: true,
  },
  { method: "GET", path: "/account/tokens", isSingle: true },
  {
    method: "POST",
    path: "/account/tokens",
    fields: () => ({ name: "backup", abilities: ["orders.read"], days: 30 }),
    isSingle: true,
  },
  { method: "DELETE", path: "/account/tokens/0", isSingle: true },
];

/** Sends every request that a front end makes, for an account in a given state. */
export async function walkJson(shop: StateShop, guard: StateGuard, state: AccountState): Promise<StateAnswer[]> {
  const answers: StateAnswer[] = [];
  const note = (request: string, response: TestResponse): void => {
    answers.push({ state: state.name, request, answer: answerOf(response), problem: problemOf(response, state) });
  };
  const prefix = shop.prefix(guard);
  // Links lead to the front end, which has one page for both guards and sends the tokens to the guard's routes.
  const own = (link: string | null) => (link === null || link.startsWith(prefix) ? link : prefix + link);
  for (const request of REQUESTS) {
    const { method, path, fields, isGuests = false, isSingle = false } = request;
    if (isSingle && guard !== "web") continue;
    const arrival = await shop.arrive(guard, state);
    const visitor = isGuests ? shop.visitor() : arrival.visitor;
    await shop.mail.clear();
    const response = await send(visitor, method, prefix + path, fields?.(arrival) ?? {});
    const title = `${isGuests ? "guest: " : ""}${method} ${path.replace(/\?.*/, "")}${JSON.stringify(fields?.(arrival) ?? {}).includes("a wrong one") ? ", wrong password" : ""}`;
    note(title, response);
    const link =
      response.status === 202
        ? own(await shop.lastLink(path === "/account/email" ? `new-${arrival.email}` : arrival.email))
        : null;
    if (link === null) continue;
    note(`${title}: GET the mailed link`, await send(visitor, "GET", link, {}));
    const token = new URL(link, "http://localhost").searchParams.get("token");
    const target = link.replace(/\?.*/, "");
    note(
      `${title}: POST the mailed link`,
      await send(visitor, "POST", target, token === null ? {} : { token, ...chosen }),
    );
  }
  for (const name of ["resetLink", "verificationLink"] as const) {
    const arrival = await shop.arrive(guard, state);
    const link = own(arrival[name]);
    if (link === null) continue;
    const title = name === "resetLink" ? "link to set a password, mailed before" : "link to verify, mailed before";
    note(`GET ${title}`, await send(shop.visitor(), "GET", link, {}));
    const token = new URL(link, "http://localhost").searchParams.get("token");
    const fields = token === null ? {} : { token, ...chosen };
    note(`POST ${title}`, await send(shop.visitor(), "POST", link.replace(/\?.*/, ""), fields));
  }
  if (guard === "web") {
    const arrival = await shop.arrive(guard, state);
    if (arrival.apiToken !== null) {
      note("GET /api/me, with a token", await shop.visitor().withToken(arrival.apiToken).getJson("/api/me"));
    }
  }
  return answers;
}

function send(visitor: TestClient, method: Request["method"], path: string, fields: object): Promise<TestResponse> {
  visitor.withCsrfToken();
  if (method === "GET") return visitor.getJson(path);
  return method === "POST" ? visitor.postJson(path, fields) : visitor.deleteJson(path, fields);
}

interface Body {
  readonly data?: Record<string, unknown> | string;
  readonly code?: string;
  readonly detail?: string;
  readonly errors?: Readonly<Record<string, readonly { readonly rule: string | null; readonly message: string }[]>>;
}

function bodyOf(response: TestResponse): Body {
  const isJson = response.headers.get("content-type")?.includes("json") === true;
  return isJson ? (response.json as Body) : {};
}

function answerOf(response: TestResponse): string {
  const { data, code, errors } = bodyOf(response);
  const rules = Object.values(errors ?? {}).flatMap((problems) =>
    problems.map(({ rule, message }) => (rule === null ? message.replace(/\S+@example\.com/, "…") : `\`${rule}\``)),
  );
  if (code !== undefined) return `${response.status} \`${code}\`${rules.length === 0 ? "" : `: ${rules.join(", ")}`}`;
  const status = typeof data === "object" ? data.status : undefined;
  return status === undefined ? String(response.status) : `${response.status} \`${String(status)}\``;
}

function problemOf(response: TestResponse, { name }: AccountState): string | null {
  const body = bodyOf(response);
  if (response.status >= 500) return response.text;
  if (response.redirectsTo !== null) return "A program is redirected.";
  if (body.code !== undefined && (body.detail ?? "") === "" && body.errors === undefined) return "It says nothing.";
  const rules = Object.values(body.errors ?? {}).flatMap((problems) => problems.map(({ rule }) => rule));
  if (["no password", "neither", "revoked"].includes(name) && rules.includes("auth.password.wrong")) {
    return "An account without a password has no incorrect one.";
  }
  return null;
}
