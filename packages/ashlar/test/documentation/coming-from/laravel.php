<?php
// Laravel's own hashing and database packages, as Debian ships them.
require '/usr/share/php/Illuminate/Database/autoload.php';
require '/usr/share/php/Illuminate/Hashing/autoload.php';
use Illuminate\Database\Capsule\Manager as DB;
use Illuminate\Hashing\{BcryptHasher, ArgonHasher, Argon2IdHasher};
$db = new DB;
$db->addConnection(['driver' => 'mysql', 'host' => '127.0.0.1', 'database' => $argv[1], 'username' => 'root', 'password' => getenv('MYSQL_PWD') ?: '', 'charset' => 'utf8mb4', 'collation' => 'utf8mb4_bin']);
$db->setAsGlobal();
$bcrypt = new BcryptHasher(['rounds' => 12]);
$argon = new ArgonHasher(['memory' => 65536, 'time' => 4, 'threads' => 1]);
$argon2id = new Argon2IdHasher(['memory' => 65536, 'time' => 4, 'threads' => 1]);
DB::schema()->create('users', function ($table) {
    $table->id();
    $table->string('name');
    $table->string('email')->unique();
    $table->timestamp('email_verified_at')->nullable();
    $table->string('password');
    $table->rememberToken();
    $table->timestamps();
    $table->softDeletes();
});
$at = '2024-03-05 07:08:09';
$row = fn ($id, $name, $email, $hash, $verified = '2024-03-05 07:10:00', $deleted = null) => DB::table('users')->insert([
    'id' => $id, 'name' => $name, 'email' => $email, 'password' => $hash, 'email_verified_at' => $verified,
    'remember_token' => null, 'created_at' => $at, 'updated_at' => $at, 'deleted_at' => $deleted,
]);
$row(1, 'Ada', 'Ada@Example.com', $bcrypt->make('bcrypt of ada'));
$row(2, 'Grace', 'grace@example.com', $argon2id->make('argon2id of grace'));
$row(3, 'Linus', 'linus@example.com', $argon->make('argon2i of linus'));
$row(4, 'Unverified', 'una@example.com', $bcrypt->make('bcrypt of una'), null);
$row(5, 'Ada again', 'ada@example.com', $bcrypt->make('bcrypt of ada again'));
$row(6, 'Gone', 'gone@example.com', $bcrypt->make('bcrypt of gone'), '2024-03-05 07:10:00', '2024-04-01 00:00:00');
$row(7, 'Legacy', 'legacy@example.com', md5('md5 of legacy'));
$row(9, 'Broken', 'not an address', $bcrypt->make('bcrypt of broken'));
$row(41, 'Zoë', 'zoe@exämple.com', $bcrypt->make('pässwörd of zoë 🦀'));
