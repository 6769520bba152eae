// One of the processes of `npm run token-rounds`: an application with several tokens per user, on the database in DATABASES.
import { Api, ApiProvider, JWTAuthenticationMiddleware, many } from "../../packages/ashlar/src/public/api.ts";
import { Authenticates, AuthProvider } from "../../packages/ashlar/src/public/auth.ts";
import {
  compose,
  DatabaseProvider,
  Model,
  mariadb,
  postgres,
  primaryKey,
  sqlite,
} from "../../packages/ashlar/src/public/database.ts";
import { createApplication, HttpKernel, Route } from "../../packages/ashlar/src/public/index.ts";
import { digest } from "../../packages/ashlar/src/public/security.ts";
import { quickHasher } from "../../packages/ashlar/src/public/testing.ts";
import { migrationOfStub } from "../../packages/ashlar/test/support/migration-folder.ts";

const { DATABASE, DATABASE_URL = "", SECRET = "" } = process.env;

class User extends compose(Model, Authenticates) {
  static override table = "users";
  static override timestamps = false;
  declare id: number;
  declare email: string;
}

class Kernel extends HttpKernel {
  override routeMiddleware = { web: [], jwt: [JWTAuthenticationMiddleware] };
}

const connections = {
  sqlite: () => sqlite({ path: DATABASE_URL }),
  postgres: () => postgres({ url: DATABASE_URL }),
  mariadb: () => mariadb({ url: DATABASE_URL }),
};

const application = await createApplication({
  kernel: Kernel,
  providers: [DatabaseProvider, AuthProvider, ApiProvider],
  routes: [
    ...Api.routes(),
    Route.get("/open", () => ({}))
      .middleware("jwt")
      .respondsWithJson(),
    Route.post("/stored", async ({ request }) => ({ rows: (await rowsOf(request.string("token"))).length })),
    // Makes each renewal that many seconds older.
    Route.post("/age", async ({ request }) => {
      for (const { id, replaced } of await rowsOf(request.string("token"))) {
        const ago = (request.integer("seconds") ?? 0) * 1000;
        const aged = String(replaced ?? "").replaceAll(/@(\d+)/g, (_, at) => `@${Number(at) - ago}`);
        await kysely.updateTable("api_tokens").set({ replaced: aged }).where("id", "=", id).execute();
      }
      return {};
    }),
  ],
  config: {
    database: { DATABASES: { default: "main", main: connections[DATABASE as keyof typeof connections]() } },
    auth: { GUARDS: { default: "jwt" }, PASSWORDS: { hasher: quickHasher() } },
    api: { DRIVERS: { jwt: { secret: SECRET, model: User, tokens: many(), authenticates: true } } },
  },
  environment: { APP_ENV: "test", APP_KEY: SECRET },
});
const { kysely } = application.container.make("database");

/** The rows that have a refresh token. */
function rowsOf(token: string) {
  return kysely.selectFrom("api_tokens").select(["id", "replaced"]).where("token_hash", "=", digest(token)).execute();
}

if (process.argv.includes("--create")) {
  await kysely.schema
    .createTable("users")
    .$call(primaryKey(kysely))
    .addColumn("email", "varchar(255)", (column) => column.unique())
    .addColumn("password", "varchar(255)")
    .addColumn("access_epoch", "varchar(43)")
    .execute();
  await (await migrationOfStub("api/create_api_tokens.ts.stub")).up(kysely);
  const user = new User().fill({ email: "ada@example.com" });
  await user.setPassword("a password of hers");
  await user.save();
}

const server = await application.listen({ port: 0, hostname: "127.0.0.1" });
process.send?.(server.url);
process.on("disconnect", () => void application.shutdown().then(() => process.exit()));
