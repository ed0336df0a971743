ALLOWED_HOSTS = [".localhost", "127.0.0.1"]
ROOT_URLCONF = "shop.urls"
