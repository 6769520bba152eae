import { AbilityMiddleware, AnyAbilityMiddleware, JWTAuthenticationMiddleware, many } from "../../src/api/index.ts";
import type { ProviderClass } from "../../src/boot/index.ts";
import { Route } from "../../src/routing/index.ts";
import { generateSecret } from "../../src/security/index.ts";
import { type Answer, PASSWORD, type Sent, type TestApi, type TestApiOptions, testApi } from "./api-application.ts";
import { migrationOfStub } from "./migration-folder.ts";

const KEY = generateSecret();

/** The token endpoints' response if users have several tokens. */
export interface Pair {
  readonly data: string;
  readonly refresh: string;
  readonly expires_in: number;
  readonly abilities: readonly string[] | null;
}

/** The columns of a row that tests check. */
export interface StoredToken {
  readonly id: unknown;
  readonly user_id: unknown;
  readonly name: string;
  readonly abilities: string | null;
  readonly family: string;
  readonly token_hash: string;
  readonly last_used_at: unknown;
  readonly revoked_at: unknown;
  readonly device: string | null;
}

/** An application whose users have several tokens, with the table for them. */
export class ManyTokensApi {
  readonly api: TestApi;

  constructor(api: TestApi) {
    this.api = api;
  }

  /** Logs in at the token endpoint. */
  async login(inputs: object = {}, sent: Sent = {}): Promise<Pair> {
    const answer = await this.api.post(
      "/api/auth",
      { username: "ada@example.com", password: PASSWORD, ...inputs },
      sent,
    );
    return answer.body as Pair;
  }

  renew(token: string, sent: Sent = {}): Promise<Answer> {
    return this.api.post("/api/reauth", { token }, sent);
  }

  /** Renews a token and returns the response's data; fails the test if the token is refused. */
  async renewed(token: string): Promise<Pair> {
    const { status, body } = await this.renew(token);
    if (status !== 200) throw new Error(`The renewal was refused: ${JSON.stringify(body)}`);
    return body as Pair;
  }

  /** The status of a request with an access token. */
  async status(token: string, path = "/api/open"): Promise<number> {
    return (await this.api.get(path, { token })).status;
  }

  async rows(): Promise<readonly StoredToken[]> {
    const rows = await this.api.database.kysely.selectFrom("api_tokens").selectAll().orderBy("id").execute();
    return rows as unknown as readonly StoredToken[];
  }
}

/** As {@link testApi}, with several tokens per user; options of the driver replace the defaults. */
export async function manyTokensApi(options: TestApiOptions = {}): Promise<ManyTokensApi> {
  const api = await testApi({
    ...options,
    // All processes share it.
    environment: { APP_KEY: KEY, ...options.environment },
    driver: { tokens: many({ accessMinutes: 10, refreshDays: 30 }), ...options.driver },
    middleware: { ability: [AbilityMiddleware], "any-ability": [AnyAbilityMiddleware], ...options.middleware },
    stack: options.stack ?? [JWTAuthenticationMiddleware],
    routes: [
      Route.get("/write", ({ auth }) => ({ can: auth.tokenCan("orders.write") })).middleware("ability:orders.write"),
      Route.get("/both", () => ({})).middleware("ability:orders.read,orders.write"),
      Route.get("/either", () => ({})).middleware("any-ability:orders.read,orders.write"),
      Route.post("/leave", async ({ auth }) => {
        await auth.logout();
        return {};
      }),
      ...(options.routes ?? []),
    ],
    providers: (options.providers ?? []) as readonly ProviderClass[],
  });
  if (options.sharing === undefined) {
    const { up } = await migrationOfStub("api/create_api_tokens.ts.stub");
    await up(api.database.kysely);
  }
  return new ManyTokensApi(api);
}
