import { type ReactNode, useEffect, useState } from "react";
import { client, onLoggedOut, sentenceFor, type User } from "./client.ts";
import { AccountPage } from "./pages/account.tsx";
import { LoginPage, RegisterPage } from "./pages/entry.tsx";
import { ForgotPasswordPage, ResetPasswordPage } from "./pages/password.tsx";
import { VerifyPage } from "./pages/verify.tsx";

/** The props of each page. */
export interface PageProps {
  readonly user: User | null;
  /** Goes to a path, after asking the server again who is logged in. */
  readonly go: (path: string) => Promise<void>;
}

/** The page at a path. Links in mails lead to some of them. */
function pageAt(path: string, props: PageProps): ReactNode {
  const [, token] = /^\/email\/verify\/([^/]+)$/.exec(path) ?? [];
  if (token !== undefined) return <VerifyPage token={decodeURIComponent(token)} />;
  switch (path) {
    case "/change_password":
      return <ForgotPasswordPage />;
    case "/password_reset":
      return <ResetPasswordPage />;
  }
  if (props.user !== null) return <AccountPage {...props} user={props.user} />;
  return path === "/register" ? <RegisterPage {...props} /> : <LoginPage {...props} />;
}

export function App() {
  const [path, setPath] = useState(location.pathname);
  const [user, setUser] = useState<User | null>();
  const [problem, setProblem] = useState<string | null>(null);

  async function load(): Promise<void> {
    try {
      setUser(await client.user<User>());
      setProblem(null);
    } catch (error) {
      setProblem(sentenceFor(error));
    }
  }

  async function go(to: string): Promise<void> {
    await load();
    history.pushState(null, "", to);
    setPath(location.pathname);
  }

  // biome-ignore lint/correctness/useExhaustiveDependencies: once, at the start.
  useEffect(() => {
    void load();
    onLoggedOut(() => setUser(null));
    const follow = () => setPath(location.pathname);
    addEventListener("popstate", follow);
    return () => removeEventListener("popstate", follow);
  }, []);

  async function logOut(): Promise<void> {
    try {
      await client.logout();
      await go("/login");
    } catch (error) {
      setProblem(sentenceFor(error));
    }
  }

  return (
    <>
      <header>
        <strong>Shop</strong>
        {user && (
          <button type="button" className="quiet" onClick={logOut}>
            Log out
          </button>
        )}
      </header>
      <main>
        {problem !== null && (
          <section>
            <p className="wrong" role="alert">
              {problem}
            </p>
          </section>
        )}
        {user !== undefined && pageAt(path, { user, go })}
      </main>
    </>
  );
}
