import type { DoorWalk, WalkThrough } from "./door-bench.ts";

/**
 * Functions that get through the framework's doors that need only a password, by the door's name and the kind of
 * client.
 */
export const WALKS: Readonly<Record<string, Readonly<Record<string, WalkThrough>>>> = {
  login: {
    "its page": async ({ client, path, ...given }) => client.submit(await client.get(path), credentials(given)),
    JSON: ({ client, path, ...given }) => client.withCsrfToken().postJson(path, credentials(given)),
  },
  registration: {
    "its page": async ({ client, path, ...given }) => {
      const page = await client.get(path);
      return client.submit(page, { ...newcomer(given), ...(hasField(page.text, "name") && { name: "Newcomer" }) });
    },
    JSON: ({ client, path, ...given }) =>
      client.withCsrfToken().postJson(path, { ...newcomer(given), name: "Newcomer" }),
  },
  token: {
    JSON: ({ client, path, identifier, password }) => client.postJson(path, { username: identifier, password }),
  },
};

function credentials({ user, identifier, password }: Omit<DoorWalk, "client" | "path">): Record<string, string> {
  return { [(user.constructor as unknown as { identifierColumn: string }).identifierColumn]: identifier, password };
}

function newcomer({ password }: Pick<DoorWalk, "password">): Record<string, string> {
  const email = `newcomer-${crypto.randomUUID()}@example.com`;
  return { email, password, password_confirmation: password };
}

function hasField(html: string, name: string): boolean {
  return html.includes(`name="${name}"`);
}
