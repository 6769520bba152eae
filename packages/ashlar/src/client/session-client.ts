import { ClientError } from "./client-error.ts";
import { type ClientFlow, inputsOf } from "./client-flow.ts";
import { type Authorization, type Call, callBy, HttpClient, type Pass } from "./http-client.ts";
import { type ClientOptions, type RequestOptions, readJson, Transport } from "./transport.ts";

/** The options of a {@link SessionClient}. */
interface SessionClientOptions extends ClientOptions {
  /** The prefix of the account routes, if `Auth.routes` has one; default: none. */
  readonly accounts?: string | undefined;
}

/** A form's inputs, by name. */
type Fields = Readonly<Record<string, unknown>>;

/** Inputs with a new password. `password_confirmation` defaults to the same value. */
interface NewPassword extends Fields {
  readonly password: string;
  readonly password_confirmation?: string;
}

/** The outcome, as one word, and as a sentence for the user in the browser's preferred language. */
export interface StatusAnswer<Status extends string = string> {
  readonly status: Status;
  readonly message: string;
}

/** A login or a confirmation that is waiting for a step. */
export interface PendingAnswer {
  readonly status: "pending";
  /** The name of the step. */
  readonly step: string;
  /** The ways to pass it. */
  readonly flows: readonly ClientFlow[];
  /** Why it is waiting, as a sentence for the user, if the step gives a reason. */
  readonly message?: string;
}

/** One of the user's logins, as listed by `logins`. */
export interface LoginEntry {
  /** The id to pass to `endLogin`. */
  readonly id: string;
  /** The browser and the system: `Firefox on Linux`. */
  readonly device: string;
  readonly ip: string | null;
  readonly userAgent: string | null;
  /** When it was last used, and when it began, in ISO 8601. */
  readonly lastUsedAt: string;
  readonly createdAt: string;
  /** The names of the proofs that the user has given in it: `["password"]`. */
  readonly by: readonly string[];
  /** Whether it is the current login. */
  readonly isCurrent: boolean;
}

/** The session's CSRF token, fetched when a request first needs it. */
class CsrfTokens implements Authorization<Promise<string> | null> {
  readonly #transport: Transport;
  #token: Promise<string> | null = null;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  pass = async (method: string): Promise<Pass<Promise<string> | null>> => {
    if (/^(?:GET|HEAD|OPTIONS)$/.test(method)) return { headers: {}, proof: null };
    this.#token ??= this.#fetch();
    const proof = this.#token;
    return { headers: { "x-csrf-token": await proof }, proof };
  };

  renewed = async (
    { code }: ClientError,
    { proof }: Pass<Promise<string> | null>,
  ): Promise<Pass<Promise<string> | null> | null> => {
    if (code !== "E_CSRF" || proof === null) return null;
    // If several requests are refused, only the first one drops the token.
    if (this.#token === proof) this.forget();
    return await this.pass("POST");
  };

  /** The next request fetches another token. */
  forget(): void {
    this.#token = null;
  }

  #fetch(): Promise<string> {
    const token = this.#transport
      .json<{ readonly token: string }>({ method: "GET", path: "/csrf" })
      .then(({ token }) => token);
    token.catch(() => {
      if (this.#token === token) this.forget();
    });
    return token;
  }
}

/**
 * A client for pages in a browser. The login is in a cookie that scripts can't read. Requests that change something
 * have the session's CSRF token, which the client gets from `GET /csrf` and remembers.
 *
 * The routes are those of `Auth.routes` and `Csrf.routes`. The inputs and the keys of `ClientError.fields` have the
 * same names as on the server. Additional inputs, such as those of your own registration form, are sent along.
 *
 * ```ts
 * const api = new SessionClient({ url: "https://api.shop.example" });
 *
 * async function orderAs(email: string, password: string, note: string): Promise<void> {
 *   const answer = await api.login({ email, password });
 *   if (answer.status === "complete") await api.post("/orders", { note });
 * }
 * ```
 *
 * A request that is refused with `E_CSRF` has had no effect. It is sent once more with a new token, as whichever user
 * is logged in by then, because all tabs share the cookie.
 *
 * Every method throws a {@link ClientError} if the response is not a success, or if there isn't one.
 */
export class SessionClient extends HttpClient {
  readonly #call: Call;
  /** The same client, but without calling `onUnauthenticated` for guests. */
  readonly #ask: Call;
  readonly #transport: Transport;
  readonly #tokens: CsrfTokens;
  readonly #accounts: string;

  /**
   * @param options `url`: the application's URL; `accounts`: the prefix of the account routes, if `Auth.routes` has
   * one; `fetch`, `timeoutMs` and `onUnauthenticated` as for every client
   */
  constructor(options: SessionClientOptions) {
    const transport = new Transport(options, "include");
    const tokens = new CsrfTokens(transport);
    const call = callBy(transport, tokens, options);
    super(call);
    this.#call = call;
    this.#ask = callBy(transport, tokens, {});
    this.#transport = transport;
    this.#tokens = tokens;
    this.#accounts = options.accounts ?? "";
  }

  /**
   * Creates an account, and logs its user in.
   *
   * @returns `complete`: the account exists, and is logged in. `pending`: its login waits for the named step. `mailed`:
   * the application doesn't reveal whether the address was free, and `message` says where to look.
   */
  register(
    fields: NewPassword & { readonly email: string },
    options?: RequestOptions,
  ): Promise<
    { readonly status: "complete"; readonly verificationSent: boolean } | PendingAnswer | StatusAnswer<"mailed">
  > {
    return this.#entry("/register", confirmed(fields), options);
  }

  /**
   * Logs in.
   *
   * @param fields `remember: true` for a login that outlasts the browser
   * @returns `pending`: the login waits for the named step. Prompt for a proof, and send it with {@link continueLogin}.
   */
  login(
    fields: Fields & { readonly email: string; readonly password: string; readonly remember?: boolean },
    options?: RequestOptions,
  ): Promise<{ readonly status: "complete" } | PendingAnswer> {
    return this.#entry("/login", fields, options);
  }

  /**
   * Continues a login or a confirmation with a proof.
   *
   * ```ts
   * const api = new SessionClient({ url: "https://api.shop.example" });
   *
   * async function loginWithCode(email: string, password: string, askForCode: () => Promise<string>): Promise<boolean> {
   *   const answer = await api.login({ email, password });
   *   const flow = answer.status === "pending" && answer.flows.find(({ id }) => id === "totp");
   *   if (!flow) return answer.status === "complete";
   *   return (await api.continueLogin(flow, await askForCode())).status === "complete";
   * }
   * ```
   *
   * @param flow one of the `flows` of a response or a {@link ClientError}
   * @param proof what the user entered, or what their device returned
   * @param options `inputs`: additional inputs, such as whether to trust this device
   * @returns `pending` as before if the proof is wrong, or if another step follows
   * @throws TypeError if the flow has no URL, or one of another origin
   */
  continueLogin(
    flow: ClientFlow,
    proof?: unknown,
    { inputs = {}, ...options }: RequestOptions & { readonly inputs?: Fields } = {},
  ): Promise<{ readonly status: "complete" | "confirmed" } | PendingAnswer> {
    if (flow.url === undefined) return Promise.reject(new TypeError(`The flow ${flow.id} has no URL.`));
    const { url } = flow;
    const body = { ...inputs, ...inputsOf(flow, proof) };
    return this.#newId(async () => this.#data("POST", this.#transport.pathOf(url), body, options));
  }

  /** Logs out. Does nothing for a guest. */
  logout(options?: RequestOptions): Promise<StatusAnswer<"logged_out">> {
    return this.#entry("/logout", {}, options);
  }

  /** Returns the logged-in user, as `GET /home` responds; `null` for a guest. */
  async user<User = Readonly<Record<string, unknown>>>(options: RequestOptions = {}): Promise<User | null> {
    try {
      const read = readJson<{ readonly data: { readonly user: User } }>;
      return (await this.#ask("GET", `${this.#accounts}/home`, undefined, options, read)).data.user;
    } catch (error) {
      if (error instanceof ClientError && error.code === "E_UNAUTHENTICATED") return null;
      throw error;
    }
  }

  /** Sends another mail to verify the user's address. */
  resendVerification(options?: RequestOptions): Promise<StatusAnswer<"mailed" | "nothing_to_verify">> {
    return this.#account("POST", "/email/resend", {}, options);
  }

  /**
   * Returns the purpose of the link with this token. If the link's user is logged in, also follows the link.
   *
   * @returns `confirm`: following the link would verify `email`. `already`: the link was followed before. `isChange`:
   * whether it changes the account's address.
   */
  checkVerification(
    token: string,
    options?: RequestOptions,
  ): Promise<
    ({ readonly status: "confirm" } | StatusAnswer<"verified" | "already">) & {
      readonly email: string;
      readonly isChange: boolean;
    }
  > {
    return this.#account("GET", `/email/verify/${encodeURIComponent(token)}`, undefined, options);
  }

  /** Follows the link of a verification mail. */
  verifyEmail(
    token: string,
    options?: RequestOptions,
  ): Promise<StatusAnswer<"verified" | "already"> & { readonly email: string; readonly isChange: boolean }> {
    return this.#account("POST", `/email/verify/${encodeURIComponent(token)}`, {}, options);
  }

  /** Sends a mail with a link for a new password, if there is an account. */
  requestPasswordReset(email: string, options?: RequestOptions): Promise<StatusAnswer<"mailed">> {
    return this.#account("POST", "/change_password", { email }, options);
  }

  /** Returns the account whose password can be replaced with this link's token. */
  checkPasswordReset(token: string, options?: RequestOptions): Promise<{ readonly email: string }> {
    return this.#account("GET", `/password_reset?token=${encodeURIComponent(token)}`, undefined, options);
  }

  /** Replaces a forgotten password. It doesn't log anyone in. */
  resetPassword(
    fields: NewPassword & { readonly token: string },
    options?: RequestOptions,
  ): Promise<StatusAnswer<"password_set">> {
    return this.#account("POST", "/password_reset", confirmed(fields), options);
  }

  /**
   * Confirms the user's password, for routes that require it.
   *
   * @returns `pending`: the confirmation waits for the named step, as a login does
   */
  confirmPassword(
    password: string,
    options?: RequestOptions,
  ): Promise<{ readonly status: "confirmed" } | PendingAnswer> {
    return this.#entry("/confirm_password", { password }, options);
  }

  /** Replaces the user's password, and ends all other logins. */
  changePassword(
    fields: NewPassword & { readonly current_password: string },
    options?: RequestOptions,
  ): Promise<StatusAnswer<"password_set">> {
    return this.#entry("/account/password", confirmed(fields), options);
  }

  /** Sends a mail to another address, which becomes the user's address when they follow the mail's link. */
  changeEmail(
    fields: Fields & { readonly email: string; readonly password: string },
    options?: RequestOptions,
  ): Promise<StatusAnswer<"mailed">> {
    return this.#entry("/account/email", fields, options);
  }

  /** Returns the address that following the link with this token would restore. */
  checkEmailUndo(token: string, options?: RequestOptions): Promise<{ readonly email: string }> {
    return this.#account("GET", `/email/undo/${encodeURIComponent(token)}`, undefined, options);
  }

  /**
   * Undoes a change of the address. Then ask for a new password.
   *
   * @returns `resetToken`: the `token` of `resetPassword`
   */
  undoEmailChange(
    token: string,
    options?: RequestOptions,
  ): Promise<StatusAnswer<"undone"> & { readonly email: string; readonly resetToken: string }> {
    return this.#account("POST", `/email/undo/${encodeURIComponent(token)}`, {}, options);
  }

  /**
   * Returns the address of the account that the link with this token unlocks for a device, and whether this device is
   * already known, in which case the link was meant for another one.
   */
  checkDeviceLink(
    token: string,
    options?: RequestOptions,
  ): Promise<{ readonly email: string; readonly isKnown: boolean }> {
    return this.#account("GET", `/login/device/${encodeURIComponent(token)}`, undefined, options);
  }

  /**
   * Unlocks the account for this device after too many wrong guesses by others. Then log in with the password. For a
   * device that is already known, the link isn't used up.
   */
  allowDevice(token: string, options?: RequestOptions): Promise<StatusAnswer<"allowed" | "known">> {
    return this.#account("POST", `/login/device/${encodeURIComponent(token)}`, {}, options);
  }

  /**
   * Lists the user's logins.
   *
   * @param page `before` or `after` of another page
   * @returns a page of logins; `before` and `after` identify the adjacent pages, if there are any
   */
  logins(
    page: { readonly before?: string | null; readonly after?: string | null } = {},
    options?: RequestOptions,
  ): Promise<{
    readonly logins: readonly LoginEntry[];
    readonly before: string | null;
    readonly after: string | null;
  }> {
    const query = Object.entries(page).flatMap(([name, at]) => (at ? `${name}=${encodeURIComponent(at)}` : []));
    return this.#account("GET", `/logins?${query.join("&")}`, undefined, options);
  }

  /** Ends one of the user's logins, by its `id`. */
  endLogin(id: string, options?: RequestOptions): Promise<StatusAnswer<"ended" | "gone" | "logged_out">> {
    return this.#entry(`/logins/${encodeURIComponent(id)}`, {}, options, "DELETE");
  }

  /** Ends all of the user's logins except the current one. */
  endOtherLogins(options?: RequestOptions): Promise<StatusAnswer<"ended">> {
    return this.#entry("/logins", {}, options, "DELETE");
  }

  #account<T>(method: string, path: string, body: unknown, options?: RequestOptions): Promise<T> {
    return this.#data(method, this.#accounts + path, body, options);
  }

  async #data<T>(method: string, path: string, body: unknown, options: RequestOptions = {}): Promise<T> {
    return (await this.#call(method, path, body, options, readJson<{ readonly data: T }>)).data;
  }

  #entry<T>(path: string, body: unknown, options?: RequestOptions, method: string = "POST"): Promise<T> {
    return this.#newId(() => this.#account<T>(method, path, body, options));
  }

  /** Sends a request that may change the session's id, which the token is bound to. */
  async #newId<T>(send: () => Promise<T>): Promise<T> {
    try {
      return await send();
    } finally {
      this.#tokens.forget();
    }
  }
}

function confirmed(fields: NewPassword): Fields {
  return { password_confirmation: fields.password, ...fields };
}
