import { ClientError } from "./client-error.ts";
import { type ClientFlow, inputsOf } from "./client-flow.ts";
import { exclusively } from "./exclusively.ts";
import { type Authorization, callBy, HttpClient, type Pass } from "./http-client.ts";
import { memoryTokens, type StoredTokens, type TokenStore, tokensIn } from "./token-store.ts";
import { type ClientOptions, type RequestOptions, Transport } from "./transport.ts";

/** The options of a {@link TokenClient}. */
interface TokenClientOptions extends ClientOptions {
  /** The store for the tokens; default: in memory. */
  readonly store?: TokenStore | undefined;
  /** The paths of `Api.routes`; default: `/api/auth`, `/api/reauth` and `/api/logout`. */
  readonly paths?: { readonly login?: string; readonly renew?: string; readonly logout?: string } | undefined;
  /** Called if the store fails to write. Until it succeeds, the tokens are in memory, and each request tries again. */
  readonly onStoreError?: ((error: unknown) => void) | undefined;
}

/** The token endpoints' response. */
interface Issued {
  readonly data: string;
  readonly refresh?: string;
  readonly abilities?: readonly string[] | null;
}

type Proof = StoredTokens | null;

/** A request's inputs, by name. */
type Fields = Readonly<Record<string, unknown>>;

/** A login that is waiting for a step. */
interface WaitingLogin {
  /** The text with which the login continues. */
  readonly pending: string;
  /** The requested name and abilities of the token. */
  readonly wanted: Fields;
}

/**
 * For each attempt to renew, its timeout and the pause after it, in milliseconds. All attempts together take less than
 * a minute.
 */
const TRY = 14_000;
const PAUSES: readonly number[] = [300, 1000, 3000];

/** The tokens in the store. Only one renewal at a time replaces them. */
class Tokens implements Authorization<Proof> {
  readonly paths: { readonly login: string; readonly renew: string; readonly logout: string };
  readonly #transport: Transport;
  readonly #store: TokenStore;
  readonly #onStoreError: TokenClientOptions["onStoreError"];
  readonly #lock: string;
  /** The tokens that the store failed to write, if any. */
  #unwritten: Proof | undefined;
  #renewal: { readonly access: string; readonly tokens: Promise<StoredTokens> } | null = null;
  #last: Promise<unknown> = Promise.resolve();
  #writing: Promise<void> = Promise.resolve();

  constructor(transport: Transport, { url, store = memoryTokens(), paths, onStoreError }: TokenClientOptions) {
    this.#transport = transport;
    this.#store = store;
    this.#onStoreError = onStoreError;
    this.paths = { login: "/api/auth", renew: "/api/reauth", logout: "/api/logout", ...paths };
    this.#lock = `ashlar ${url}${this.paths.renew}`;
  }

  pass = async (): Promise<Pass<Proof>> => passOf(await this.read());

  renewed = async ({ status, code }: ClientError, { proof }: Pass<Proof>): Promise<Pass<Proof> | null> => {
    if (status !== 401 || code !== "E_INVALID_TOKEN" || proof === null) return null;
    const tokens = await this.renew(proof);
    // A request that one user started must not be sent as another.
    if (tokens.login !== proof.login) {
      throw new ClientError("E_LOGIN_CHANGED", "Another login has replaced the login of this request.", { status });
    }
    return passOf(tokens);
  };

  /** @throws `E_STORAGE` */
  async read(): Promise<Proof> {
    const unwritten = this.#unwritten;
    if (unwritten !== undefined) {
      await this.write(unwritten);
      return unwritten;
    }
    try {
      return tokensIn(await this.#store.get());
    } catch (cause) {
      throw new ClientError("E_STORAGE", "The token store could not be read.", { cause });
    }
  }

  /** Stores tokens, or removes them. Tokens that can't be written stay in memory, which takes precedence. */
  async write(tokens: Proof): Promise<void> {
    this.#unwritten = tokens;
    // Writes run one after another, so that a slow write of earlier tokens can't be the last.
    const turn = this.#writing.then(async () => {
      // These tokens have been written or replaced since.
      if (this.#unwritten !== tokens) return;
      await (tokens === null ? this.#store.remove() : this.#store.set(JSON.stringify(tokens)));
      if (this.#unwritten === tokens) this.#unwritten = undefined;
    });
    this.#writing = turn.catch(() => {});
    try {
      await turn;
    } catch (error) {
      this.#onStoreError?.(error);
    }
  }

  /** Runs `work` while nothing else changes the tokens, here or in another tab. */
  alone<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(() => exclusively(this.#lock, work));
    this.#last = turn.catch(() => {});
    return turn;
  }

  /**
   * Renews tokens. If they have already been renewed, returns the tokens that replaced them.
   *
   * @param inputs the inputs of a login step, if the server requires one
   */
  renew(refused: StoredTokens, inputs: object = {}): Promise<StoredTokens> {
    if (this.#renewal?.access !== refused.access) {
      const tokens = this.alone(() => this.#renewAlone(refused, inputs));
      const renewal = { access: refused.access, tokens };
      this.#renewal = renewal;
      const end = (): void => {
        if (this.#renewal === renewal) this.#renewal = null;
      };
      tokens.then(end, end);
    }
    return this.#renewal!.tokens;
  }

  async #renewAlone({ access }: StoredTokens, inputs: object): Promise<StoredTokens> {
    const held = await this.read();
    if (held === null) throw new ClientError("E_UNAUTHENTICATED", "The user has logged out.", { status: 401 });
    if (held.access !== access) return held;
    try {
      const issued = await this.#exchange({ ...inputs, token: held.refresh ?? held.access });
      const tokens = tokensOf(issued, held.login);
      await this.write(tokens);
      return tokens;
    } catch (error) {
      if (!(error instanceof ClientError && error.code === "E_INVALID_TOKEN")) throw error;
      // Without Web Locks, another tab may have renewed them.
      const now = await this.read();
      if (now !== null && now.access !== access) return now;
      await this.write(null);
      throw error;
    }
  }

  /** Sends a renewal repeatedly until there is a response. */
  async #exchange(body: object): Promise<Issued> {
    for (const pause of PAUSES) {
      try {
        return await this.#transport.json({ method: "POST", path: this.paths.renew, body }, TRY);
      } catch (error) {
        const isLost = error instanceof ClientError && /^E_(?:NETWORK|TIMEOUT|INVALID_RESPONSE)$/.test(error.code);
        if (!isLost) throw error;
        await new Promise((resolve) => setTimeout(resolve, pause));
      }
    }
    return await this.#transport.json({ method: "POST", path: this.paths.renew, body }, TRY);
  }
}

/**
 * A client for programs that don't keep cookies, such as mobile apps and command-line tools. The login is a token,
 * which is sent with each request, and renewed when the server refuses it.
 *
 * ```ts
 * const api = new TokenClient({ url: "https://api.shop.example" });
 *
 * async function ordersOf(username: string, password: string): Promise<unknown> {
 *   await api.login({ username, password, name: "Ada's phone" });
 *   return await api.get("/api/orders");
 * }
 * ```
 *
 * However many requests are refused at once, in one tab or several, the client renews only once. If the response is
 * lost, it tries again: for a minute, the server responds to the old token with the same new one. The new tokens are
 * stored before any request uses them.
 *
 * Every method throws a {@link ClientError} if the response is not a success, or if there isn't one.
 *
 * Security: use `SessionClient` for pages in a browser, because every script on the page can read the stored tokens.
 */
export class TokenClient extends HttpClient {
  readonly #transport: Transport;
  readonly #tokens: Tokens;
  #waiting: WaitingLogin | null = null;

  /**
   * @param options `url`: the application's URL; `store`: the store for the tokens; `onStoreError`: called if the store
   * fails; `paths`: the paths of `Api.routes()`, if they aren't the default ones; `fetch`, `timeoutMs` and
   * `onUnauthenticated` as for every client
   */
  constructor(options: TokenClientOptions) {
    const transport = new Transport(options, "omit");
    const tokens = new Tokens(transport, options);
    super(callBy(transport, tokens, options));
    this.#transport = transport;
    this.#tokens = tokens;
  }

  /**
   * Logs in, and stores the tokens.
   *
   * If the login waits for a step, it throws `E_LOGIN_PENDING`, with the ways to pass the step in `flows`. Then call
   * {@link continueLogin}, or log in again with the step's inputs.
   *
   * @param fields `name`, which identifies this login to the user, and `abilities`, if the token is limited
   * @returns the token's abilities; `null` if it has all
   */
  async login(
    fields: Readonly<Record<string, unknown>> & {
      readonly username: string;
      readonly password: string;
      readonly name?: string;
      readonly abilities?: readonly string[];
    },
    options: RequestOptions = {},
  ): Promise<{ readonly abilities: readonly string[] | null }> {
    const { name, abilities } = fields;
    const wanted = { ...(name !== undefined && { name }), ...(abilities !== undefined && { abilities }) };
    this.#waiting = null;
    return this.#begin(wanted, () => this.#post<Issued>(this.#tokens.paths.login, fields, options));
  }

  /**
   * Continues a waiting login with a proof, within ten minutes.
   *
   * ```ts
   * const api = new TokenClient({ url: "https://api.shop.example" });
   *
   * async function loginWithCode(username: string, password: string, askForCode: () => Promise<string>): Promise<void> {
   *   try {
   *     await api.login({ username, password });
   *   } catch (error) {
   *     const flow = error instanceof ClientError ? error.flows.find(({ id }) => id === "totp") : undefined;
   *     if (flow === undefined) throw error;
   *     await api.continueLogin(flow, await askForCode());
   *   }
   * }
   * ```
   *
   * If the proof is wrong, or if another step follows, it throws `E_LOGIN_PENDING` again.
   *
   * @param flow one of the `flows` of the error
   * @param proof what the user entered, or what their device returned
   * @param options `inputs`: further inputs of the step
   * @returns the token's abilities; `null` if it has all
   * @throws ClientError `E_UNAUTHENTICATED` if no login of this client is waiting; `E_INVALID_TOKEN` if the ten minutes
   * are over; TypeError if the flow has a URL of another origin
   */
  async continueLogin(
    flow: ClientFlow,
    proof?: unknown,
    { inputs = {}, ...options }: RequestOptions & { readonly inputs?: Fields } = {},
  ): Promise<{ readonly abilities: readonly string[] | null }> {
    const waiting = this.#waiting;
    if (waiting === null) throw new ClientError("E_UNAUTHENTICATED", "No login waits for a step.", { status: 401 });
    const { pending, wanted } = waiting;
    const path = flow.url === undefined ? this.#tokens.paths.login : this.#transport.pathOf(flow.url);
    const body = { ...wanted, ...inputs, ...inputsOf(flow, proof) };
    const headers = { ...options.headers, authorization: `Bearer ${pending}` };
    return this.#begin(wanted, () => this.#post<Issued>(path, body, { ...options, headers }));
  }

  /** Stores the tokens of a complete login, or remembers a login that is waiting. */
  async #begin(wanted: Fields, send: () => Promise<Issued>): Promise<{ readonly abilities: readonly string[] | null }> {
    try {
      const issued = await send();
      this.#waiting = null;
      const tokens = tokensOf(issued, Date.now().toString(36) + Math.random().toString(36).slice(2));
      await this.#tokens.alone(() => this.#tokens.write(tokens));
      return { abilities: issued.abilities ?? null };
    } catch (error) {
      const pending = error instanceof ClientError ? error.pending : null;
      if (pending !== null) this.#waiting = { pending, wanted };
      throw error;
    }
  }

  /**
   * Revokes the tokens, and removes them from the store. If the server can't be reached, they are removed anyway, and
   * the error reports it. Without a login, does nothing.
   */
  logout(options: RequestOptions = {}): Promise<void> {
    return this.#tokens.alone(async () => {
      const held = await this.#tokens.read();
      if (held === null) return;
      try {
        await this.#post(this.#tokens.paths.logout, { token: held.refresh ?? held.access }, options);
      } finally {
        await this.#tokens.write(null);
      }
    });
  }

  /** Whether there is a token. It may have expired or been revoked, which only a request can find out. */
  async isLoggedIn(): Promise<boolean> {
    return (await this.#tokens.read()) !== null;
  }

  /**
   * Renews the tokens now, for example after the user's permissions have changed. If a request failed with
   * `E_LOGIN_PENDING`, pass the step's inputs.
   */
  async renew(inputs: Readonly<Record<string, unknown>> = {}): Promise<void> {
    const held = await this.#tokens.read();
    if (held === null) throw new ClientError("E_UNAUTHENTICATED", "No one is logged in.", { status: 401 });
    await this.#tokens.renew(held, inputs);
  }

  /** A request to the token endpoints, which needs no token. */
  #post<T>(path: string, body: object, { headers = {}, signal, timeoutMs }: RequestOptions): Promise<T> {
    return this.#transport.json({ method: "POST", path, body, headers }, timeoutMs, signal);
  }
}

function passOf(proof: Proof): Pass<Proof> {
  return { headers: proof === null ? {} : { authorization: `Bearer ${proof.access}` }, proof };
}

function tokensOf({ data, refresh }: Issued, login: string): StoredTokens {
  return { access: data, refresh: refresh ?? null, login };
}
