import type { Application } from "../../../boot/index.ts";
import type { RegisteredUser } from "../../../support/index.ts";
import type { TestClient } from "../../client/test-client.ts";
import type { TestResponse } from "../../client/test-response.ts";

/** The step that keeps logins waiting while a test wants it to. */
const STEP = "door_suite";

/** A user in front of a door. */
export interface DoorWalk {
  /** The user's browser or API client: a visitor without cookies. */
  readonly client: TestClient;
  readonly user: RegisteredUser;
  /** The address or name that the user logs in with. */
  readonly identifier: string;
  readonly password: string;
  /** The path of the door's first route that the application has; `/` if it has none. */
  readonly path: string;
}

/** Sends what users send to get through a door, and returns the last response. */
export type WalkThrough = (walk: DoorWalk) => Promise<TestResponse>;

/** The applications whose logins all wait. */
const held = new WeakMap<Application, { isHeld: boolean }>();

/** Lets all logins of an application wait for a step that no one can pass, until the returned function is called. */
export function holdLogins(application: Application): () => void {
  let state = held.get(application);
  if (state === undefined) {
    const own = { isHeld: false };
    const step = { check: () => "pending" as const };
    application.container.make("proofs").add({ name: STEP, amr: [], has: () => own.isHeld, step }, "doorSuite");
    held.set(application, own);
    state = own;
  }
  const current = state;
  current.isHeld = true;
  return () => {
    current.isHeld = false;
  };
}

/**
 * Reports as whom an application recognizes a client after a response: by its cookies, or by any text of the response that is
 * accepted as an API token.
 *
 * @returns the names of the guards that recognize it
 */
export async function recognizedBy(
  application: Application,
  client: TestClient,
  response: TestResponse,
): Promise<readonly string[]> {
  const names = application.container.make("auth").names;
  const found: string[] = [];
  const cookie = client.cookies.header(new URL(application.url));
  const texts = textsIn(response);
  for (const guard of names) {
    const headers = [
      ...(cookie === null ? [] : [{ cookie }]),
      ...texts.map((text) => ({ authorization: `Bearer ${text}` })),
    ];
    for (const one of headers) {
      const request = new Request(application.url, { headers: one });
      Object.defineProperty(request, "ip", { value: "127.0.0.1" });
      const { user } = await application.authenticate(request, { guard, readOnly: true });
      if (user === null) continue;
      found.push(guard);
      break;
    }
  }
  return found;
}

/** The texts in a response's JSON that a header can carry. */
function textsIn(response: TestResponse): readonly string[] {
  const texts: string[] = [];
  const collect = (value: unknown): void => {
    if (typeof value === "string" && /^[\w.~+/=|-]{16,8000}$/.test(value)) texts.push(value);
    else if (typeof value === "object" && value !== null) for (const one of Object.values(value)) collect(one);
  };
  if (/json/.test(response.headers.get("content-type") ?? "")) collect(response.json);
  return texts;
}
