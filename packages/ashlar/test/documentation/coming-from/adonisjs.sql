--
-- PostgreSQL database dump
--

\restrict 4E3ViQHDZyg6QI1VE6z7d82oOVR7xboyogJyciIzS9W7CXCB7N91Dzf6msLKiQl

-- Dumped from database version 15.20 (Debian 15.20-0+deb12u1)
-- Dumped by pg_dump version 15.20 (Debian 15.20-0+deb12u1)

SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;

SET default_tablespace = '';

SET default_table_access_method = heap;

--
-- Name: users; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.users (
    id integer NOT NULL,
    full_name character varying(255),
    email character varying(254) NOT NULL,
    password character varying(255) NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone,
    email_verified_at timestamp with time zone,
    is_active boolean DEFAULT true NOT NULL
);


--
-- Name: users_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

CREATE SEQUENCE public.users_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


--
-- Name: users_id_seq; Type: SEQUENCE OWNED BY; Schema: public; Owner: -
--

ALTER SEQUENCE public.users_id_seq OWNED BY public.users.id;


--
-- Name: users id; Type: DEFAULT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.users ALTER COLUMN id SET DEFAULT nextval('public.users_id_seq'::regclass);


--
-- Data for Name: users; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.users VALUES (1, 'Ada', 'Ada@Example.com', '$scrypt$n=16384,r=8,p=1$H2GhSyZ6w3pqnG4zpbaSUQ$djxkBHpp4TVGAM+OAFmMn1XN9PW7HmdKesl74ymqoR/Wq8B8FtHkdqXKzM2y4rGWGSPtoOQZewWqDVTO501OPA', '2024-03-05 07:08:09+00', '2024-03-05 07:08:09+00', '2024-03-05 07:08:09+00', true);
INSERT INTO public.users VALUES (2, 'Grace', 'grace@example.com', '$argon2id$v=19$m=65536,t=3,p=4$s9rGfn8XS1h03HhKioJ5vQ$+osjApPs++ZZZsk2lryBloqRkWI/E5z6Jpo2saiMdxA', '2024-03-05 07:08:09+00', '2024-03-05 07:08:09+00', '2024-03-05 07:08:09+00', true);
INSERT INTO public.users VALUES (3, 'Linus', 'linus@example.com', '$bcrypt$v=98$r=10$sdCVgAOajrYS/EpDK6Tfwg$S+5PjXGVJZr20i0LTRDONE/h+A81bCc', '2024-03-05 07:08:09+00', '2024-03-05 07:08:09+00', '2024-03-05 07:08:09+00', true);
INSERT INTO public.users VALUES (4, 'Una', 'una@example.com', '$scrypt$n=16384,r=8,p=1$zXrcDKFjuUtj8wDs1wF6Sg$VloI6aTLA0tYhu1IxIVpitQtpCjdurqj2CrAV1g/lWpIHAl4A1uRjNcfowzdetU3AzXaginJFQDoLONSPf/9kA', '2024-03-05 07:08:09+00', '2024-03-05 07:08:09+00', NULL, true);
INSERT INTO public.users VALUES (5, 'Ada again', 'ada@example.com', '$scrypt$n=16384,r=8,p=1$Ar+SrB8QaV9eXJeokDQo0w$xVZJNFut8ObS87iP68tAh5KX4rqlrfpLhnrM2BM47jBGaMk+xXGAQsrHujYjYmxq//bCakKBt3LfsuIH7yY1vg', '2024-03-05 07:08:09+00', '2024-03-05 07:08:09+00', '2024-03-05 07:08:09+00', true);
INSERT INTO public.users VALUES (6, 'Blocked', 'blocked@example.com', '$scrypt$n=16384,r=8,p=1$IFbcsauImf7FqhutMi3ioQ$wZ0wBra5isayKrcZ5RUfmAnV/U1zxIPou1dO+lZxCw9nJVmu8C1ACL4QiZgAHf8E6URx6sKbTF9DgC8M2jdmng', '2024-03-05 07:08:09+00', '2024-03-05 07:08:09+00', '2024-03-05 07:08:09+00', false);
INSERT INTO public.users VALUES (41, NULL, 'zoe@example.com', '$scrypt$n=16384,r=8,p=1$Zxf4TA2F6KkKaNoH5nrUtA$1CF4BnDDYQ0CNLhXPhIe0oPXECVMu4LnbzWb9iYV6PwEE4bVwLZnKdTV2KaclEenBy5tbH5E8WbWmDEWxIIvtQ', '2024-03-05 07:08:09+00', '2024-03-05 07:08:09+00', '2024-03-05 07:08:09+00', true);


--
-- Name: users_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.users_id_seq', 1, false);


--
-- Name: users users_email_unique; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.users
    ADD CONSTRAINT users_email_unique UNIQUE (email);


--
-- Name: users users_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.users
    ADD CONSTRAINT users_pkey PRIMARY KEY (id);


--
-- PostgreSQL database dump complete
--

\unrestrict 4E3ViQHDZyg6QI1VE6z7d82oOVR7xboyogJyciIzS9W7CXCB7N91Dzf6msLKiQl

