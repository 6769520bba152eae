import { AbilityMiddleware, JWTAuthenticationMiddleware, personal } from "../../src/api/index.ts";
import type { CreatedPersonalToken, PersonalStore, PersonalTokenRequest } from "../../src/api/stores/personal-store.ts";
import type { ProviderClass } from "../../src/boot/index.ts";
import { Route } from "../../src/routing/index.ts";
import { generateSecret } from "../../src/security/index.ts";
import { ADA, type TestApi, type TestApiOptions, testApi } from "./api-application.ts";
import { migrationOfStub } from "./migration-folder.ts";

const KEY = generateSecret();

/** The columns of a row that tests check. */
export interface StoredPersonalToken {
  readonly id: unknown;
  readonly user_id: unknown;
  readonly name: string;
  readonly abilities: string | null;
  readonly token_hash: string;
  readonly last_used_at: unknown;
  readonly revoked_at: unknown;
}

/** An application whose users have personal tokens, with the table for them. */
export class PersonalTokensApi {
  readonly api: TestApi;

  constructor(api: TestApi) {
    this.api = api;
  }

  get service(): PersonalStore {
    return this.api.application.container.make("apiDrivers").personal();
  }

  /** Creates a token for a user; default: Ada. */
  async issue(request: Partial<PersonalTokenRequest> = {}, id: number = ADA.id): Promise<CreatedPersonalToken> {
    const user = (await this.api.User.find(id))!;
    return (await this.service.issue(user, { name: "backup", abilities: null, days: 30, ...request }))!;
  }

  /** The status of a request with a token. */
  async status(token: string, path = "/api/open"): Promise<number> {
    return (await this.api.get(path, { token })).status;
  }

  async rows(): Promise<readonly StoredPersonalToken[]> {
    const rows = await this.api.database.kysely.selectFrom("personal_tokens").selectAll().orderBy("id").execute();
    return rows as unknown as readonly StoredPersonalToken[];
  }
}

/** As `testApi`, with personal tokens; options of the driver replace the defaults. */
export async function personalTokensApi(options: TestApiOptions = {}): Promise<PersonalTokensApi> {
  const api = await testApi({
    ...options,
    // All processes share it.
    environment: { APP_KEY: KEY, ...options.environment },
    driver: { personal: personal(), ...options.driver },
    middleware: { ability: [AbilityMiddleware], ...options.middleware },
    stack: options.stack ?? [JWTAuthenticationMiddleware],
    routes: [
      Route.get("/write", ({ auth }) => ({ can: auth.tokenCan("orders.write") })).middleware("ability:orders.write"),
      Route.get("/can", ({ auth }) => ["orders.read", "orders.write"].filter((ability) => auth.tokenCan(ability))),
      Route.get("/tokens", ({ personalTokens }) => personalTokens.page()),
      Route.post("/tokens", ({ personalTokens, request }) => personalTokens.create(request.all() as never)),
      Route.delete("/tokens/@id", ({ personalTokens, request }) => personalTokens.revoke(request.param("id"))),
      Route.post("/leave", async ({ auth }) => {
        await auth.logout();
        return {};
      }),
      ...(options.routes ?? []),
    ],
    providers: (options.providers ?? []) as readonly ProviderClass[],
  });
  if (options.sharing === undefined) {
    const { up } = await migrationOfStub("tokens/create_personal_tokens.ts.stub");
    await up(api.database.kysely);
  }
  return new PersonalTokensApi(api);
}
