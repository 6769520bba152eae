import { ref } from "vue";
import { client, onLoggedOut, sentenceFor, type User } from "./client.ts";

/** Who is logged in: `undefined` until the server has responded. */
export const user = ref<User | null>();

/** Where the visitor is. */
export const path = ref(location.pathname);

/** For the visitor, why that isn't known. */
export const problem = ref<string | null>(null);

onLoggedOut(() => {
  user.value = null;
});
addEventListener("popstate", () => {
  path.value = location.pathname;
});

/** Asks the server who is logged in. */
export async function load(): Promise<void> {
  try {
    user.value = await client.user<User>();
    problem.value = null;
  } catch (error) {
    problem.value = sentenceFor(error);
  }
}

/** Goes to a path, after asking again who is logged in. */
export async function go(to: string): Promise<void> {
  await load();
  history.pushState(null, "", to);
  path.value = location.pathname;
}

export async function logOut(): Promise<void> {
  try {
    await client.logout();
    await go("/login");
  } catch (error) {
    problem.value = sentenceFor(error);
  }
}
