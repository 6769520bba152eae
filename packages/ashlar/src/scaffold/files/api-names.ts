/** The names in an API that the application's author can choose. */
export interface ApiNames {
  /** The table with the users that tokens belong to. */
  readonly table: string;
  /** The column with the digest of a user's token; `null` if there isn't one because users have several tokens. */
  readonly tokenColumn: string | null;
  /** The column with the access epoch. */
  readonly epochColumn: string;
  /** The module with the routes, as named in the kernel: `routes/api`. */
  readonly location: string;
  /** The prefix of these routes' paths; may be empty. */
  readonly prefix: string;
  /** The path where credentials are exchanged for a token. */
  readonly authPath: string;
  /** The path where a token is exchanged for a new one. */
  readonly reauthPath: string;
}

/** The names in a new application. */
export const USUAL_NAMES: ApiNames = Object.freeze({
  table: "users",
  tokenColumn: "api_token",
  epochColumn: "access_epoch",
  location: "routes/api",
  prefix: "/api",
  authPath: "/api/auth",
  reauthPath: "/api/reauth",
});

/** The file with the API's routes. */
export function routesFileOf({ location }: ApiNames): string {
  return /\.[jt]s$/.test(location) ? location : `${location}.ts`;
}

/** The names, as values for stubs. */
export function nameValues(names: ApiNames): Readonly<Record<string, string>> {
  const { prefix, authPath, reauthPath, table, epochColumn, tokenColumn } = names;
  return {
    ...{ authPath, reauthPath, table, epochColumn },
    tokenColumn: tokenColumn ?? USUAL_NAMES.tokenColumn!,
    mePath: `/${prefix}/me`.replaceAll(/\/{2,}/g, "/"),
  };
}
