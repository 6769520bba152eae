import type { TestClient, TestResponse } from "../../src/testing/index.ts";
import { type AccountState, type Arrival, STATE_PASSWORD, type StateGuard, type StateShop } from "./account-states.ts";
import type { StateAnswer } from "./account-states-table.ts";

const PAGES = [
  "/login",
  "/register",
  "/change_password",
  "/password_reset?token=x",
  "/email/verify/notice",
  "/email/verify/x",
  "/email/undo/x",
  "/home",
  "/logins",
  "/account/security",
  "/confirm_password",
  "/account/password",
  "/account/email",
  "/account/close",
  "/logout",
  "/verified",
  "/confirmed",
];

/** Pages that only the default guard has. */
const SINGLE = ["/", "/account/tokens", "/nowhere"];

const NEW_PASSWORD = "another password altogether";

/** Visits every page and form that an account in a given state can reach. */
export async function walkPages(shop: StateShop, guard: StateGuard, state: AccountState): Promise<StateAnswer[]> {
  return new PageWalk(shop, guard, state).walk();
}

class PageWalk {
  readonly #shop: StateShop;
  readonly #guard: StateGuard;
  readonly #state: AccountState;
  readonly #answers: StateAnswer[] = [];
  /** The forms that were submitted already. */
  readonly #submitted = new Set<string>();

  constructor(shop: StateShop, guard: StateGuard, state: AccountState) {
    this.#shop = shop;
    this.#guard = guard;
    this.#state = state;
  }

  async walk(): Promise<StateAnswer[]> {
    const prefix = this.#shop.prefix(this.#guard);
    for (const path of [...PAGES, ...(this.#guard === "web" ? SINGLE : [])]) await this.#visit(path, prefix + path);
    for (const name of ["resetLink", "verificationLink"] as const) {
      const arrival = await this.#arrive();
      const link = arrival[name];
      const title =
        name === "resetLink" ? "GET link to set a password, mailed before" : "GET link to verify, mailed before";
      if (link !== null) await this.#open(title, arrival, link);
    }
    // Everything that can be done with only the address, by a stranger or in another browser.
    for (const path of ["/login", "/register", "/change_password"]) {
      const arrival = await this.#arrive();
      if (arrival.user.email === null) continue;
      const guest = { ...arrival, visitor: this.#shop.visitor() };
      const page = await guest.visitor.get(prefix + path);
      await this.#submitAll(`guest: `, page, guest, async () => {
        const again = { ...(await this.#arrive()), visitor: this.#shop.visitor() };
        return { arrival: again, page: await again.visitor.get(prefix + path) };
      });
    }
    return this.#answers;
  }

  #arrive(): Promise<Arrival> {
    return this.#shop.arrive(this.#guard, this.#state);
  }

  async #visit(title: string, path: string): Promise<void> {
    const arrival = await this.#arrive();
    await this.#open(`GET ${title}`, arrival, path);
  }

  /** Opens a page and submits each of its forms, each time with a new account. */
  async #open(title: string, arrival: Arrival, path: string): Promise<void> {
    const response = await arrival.visitor.get(path);
    const page = await this.#note(title, response, arrival.visitor);
    if (page.status !== 200 || (response.redirectsTo !== null && !path.includes("token"))) return;
    await this.#submitAll("", page, arrival, async () => {
      const again = await this.#arrive();
      const link = path.includes("/password_reset?token=") && !path.endsWith("=x") ? again.resetLink! : path;
      return { arrival: again, page: await again.visitor.follow(await again.visitor.get(link)) };
    });
  }

  async #submitAll(
    who: string,
    page: TestResponse,
    first: Arrival,
    renew: () => Promise<{ readonly arrival: Arrival; readonly page: TestResponse }>,
  ): Promise<void> {
    let open: { readonly arrival: Arrival; readonly page: TestResponse } | null = { arrival: first, page };
    for (const { attributes } of mainForms(page)) {
      const action = attributes.get("action")!;
      const name = `${who}POST ${this.#neutral(action)}`;
      if (this.#submitted.has(name)) continue;
      this.#submitted.add(name);
      const { arrival, page: shown } = open ?? (await renew());
      open = null;
      // Only the first form with an action, because each row of a list has one.
      const form = mainForms(shown).find((one) => sameForm(one.attributes.get("action")!, action, this.#neutral));
      if (form === undefined) continue;
      await this.#shop.mail.clear();
      const values = valuesFor(form.fields, arrival.email, action);
      const answer = await arrival.visitor.submit(shown, `[action="${form.attributes.get("action")}"]`, values);
      await this.#note(name, answer, arrival.visitor);
      const link = await this.#shop.lastLink(String(values.email ?? arrival.email));
      if (link !== null) await this.#open(`${name}: GET the mailed link`, arrival, link);
    }
  }

  /** Records a response after following its redirects. */
  async #note(request: string, response: TestResponse, visitor: TestClient): Promise<TestResponse> {
    const page = await visitor.follow(response);
    const told = tellings(page);
    const led = response.redirectsTo === null ? "" : `→ ${this.#neutral(new URL(page.url).pathname)} `;
    const answer = `${led}${page.status}${told === null ? "" : `: ${told}`}`;
    this.#answers.push({ state: this.#state.name, request, answer, problem: this.#problemOf(page, told) });
    return page;
  }

  #problemOf(page: TestResponse, told: string | null): string | null {
    if (page.status >= 500) return page.pageText;
    const hasNoPassword = ["no password", "neither", "revoked"].includes(this.#state.name);
    if (hasNoPassword && told === "Incorrect password.") return "An account without a password has no incorrect one.";
    if (!page.text.includes("<main")) return page.status === 200 ? null : page.text;
    const main = mainOf(page);
    if (/\bnull\b|undefined|\[object/.test(page.pageText)) return `It shows ${page.pageText}`;
    if (main.includes("<form") || main.includes("href=")) return null;
    // The user can only ask someone.
    return main.includes("Contact the operator") ? null : `A dead end: ${page.pageText}`;
  }

  /** A path without the guard's prefix and the parts that differ each time. */
  readonly #neutral = (path: string): string => {
    const own = this.#shop.prefix(this.#guard);
    const bare = own !== "" && path.startsWith(own) ? path.slice(own.length) || "/" : path;
    return bare
      .replace(/\?.*/, "")
      .replace(/(\/email\/(?:verify|undo))\/(?!notice).+/, "$1/@token")
      .replace(/(\/logins|\/tokens)\/\d+/, "$1/@id");
  };
}

function mainOf({ text }: TestResponse): string {
  return /<main[\s\S]*<\/main>/.exec(text)?.[0] ?? "";
}

/** The forms of a page, apart from those in its header. */
function mainForms(page: TestResponse): TestResponse["forms"] {
  const main = mainOf(page);
  return page.forms.filter(({ attributes }) => main.includes(`action="${attributes.get("action")}"`));
}

function sameForm(one: string, other: string, neutral: (path: string) => string): boolean {
  return neutral(one) === neutral(other);
}

function valuesFor(fields: readonly string[], email: string, action: string): Record<string, string | string[]> {
  const changes = /reset|account\/password/.test(action);
  const known: Record<string, string | string[]> = {
    name: "Ada",
    email: action.includes("account/email") ? `new-${email}` : email,
    password: changes ? NEW_PASSWORD : STATE_PASSWORD,
    password_confirmation: changes ? NEW_PASSWORD : STATE_PASSWORD,
    current_password: STATE_PASSWORD,
    "abilities[]": ["orders.read"],
  };
  return Object.fromEntries(Object.entries(known).filter(([name]) => fields.includes(name)));
}

/** The first sentence in which a page shows a problem, or the last request's result. */
function tellings(page: TestResponse): string | null {
  const main = mainOf(page);
  const [, said] =
    /<p class="notice"[^>]*>([^<]+)</.exec(main) ??
    /<p class="error"[^>]*>([^<]+)</.exec(main) ??
    /role="alert"[\s\S]*?<li>(?:<a[^>]*>)?([^<]+)</.exec(main) ??
    /<p(?: class="lead")?>([^<]+)<\/p>/.exec(main) ??
    [];
  return (
    said
      ?.replaceAll(/ ?(?:This also revokes your|Your) personal tokens(?: have been revoked)?\./g, "")
      .replaceAll("&#x27;", "'")
      .replaceAll("&#39;", "'")
      .replaceAll(/\S+@example\.com/g, "…")
      .replaceAll(/\w+ \d+, \d{4} at [^.]*? UTC/g, "…")
      .replaceAll(/\s+/g, " ")
      .trim() ?? null
  );
}
